from __future__ import annotations

import math

import pytest
import torch

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.gaussian import Gaussian, gaussian_noise, moments
from mirrormask.objectives.info_nce import InfoNCE, info_nce

CRITERION = InfoNCE()

ANCHOR = torch.randn(7, 5, generator=torch.Generator().manual_seed(1)) * torch.arange(1, 6) + 3


def step(anchor: torch.Tensor = ANCHOR) -> Step:
    return Step(anchor, anchor)


@pytest.mark.parametrize("mean", ["batch", "zero"])
@pytest.mark.parametrize("deviation", ["batch", "one"])
def test_against_a_loop(mean: str, deviation: str) -> None:
    torch.manual_seed(3)
    found = gaussian_noise(ANCHOR, 4, mean=mean, deviation=deviation)
    torch.manual_seed(3)
    noise = torch.randn(4, 5)
    for j in range(5):
        column = ANCHOR[:, j].tolist()
        middle = sum(column) / 7 if mean == "batch" else 0.0
        around = sum(column) / 7
        spread = math.sqrt(sum((v - around) ** 2 for v in column) / 6) if deviation == "batch" else 1.0
        for i in range(4):
            assert found[i, j].item() == pytest.approx(middle + spread * noise[i, j].item(), rel=1e-4)


def test_many_draws_have_the_moments_of_the_batch() -> None:
    torch.manual_seed(0)
    drawn = gaussian_noise(ANCHOR, 200_000)
    mean, spread = moments(ANCHOR)
    torch.testing.assert_close(drawn.mean(dim=0), mean, rtol=0, atol=0.05)
    torch.testing.assert_close(drawn.std(dim=0), spread, rtol=0.02, atol=0)


@pytest.mark.parametrize(("multiple", "rows"), [(1.0, 7), (3.0, 21), (0.5, 4), (0.01, 1)])
def test_any_multiple_of_the_batch(multiple: float, rows: int) -> None:
    assert Gaussian(multiple=multiple).draw(step(), CRITERION).shape == (rows, 5)


def test_the_scale_of_noise_around_zero_cancels() -> None:
    torch.manual_seed(5)
    noise = gaussian_noise(ANCHOR, 9, mean="zero", deviation="one")
    losses = [info_nce(ANCHOR, ANCHOR + 1, temperature=0.05, extra=scale * noise) for scale in (0.01, 1.0, 50.0)]
    torch.testing.assert_close(losses[0], losses[1])
    torch.testing.assert_close(losses[2], losses[1])


@pytest.mark.parametrize("detach", [True, False])
def test_the_gradient_flows_only_where_asked(detach: bool) -> None:
    anchor = ANCHOR.clone().requires_grad_()
    assert Gaussian(detach=detach).draw(step(anchor), CRITERION).requires_grad != detach


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'multiple' of gaussian must be above 0. Got 0"):
        Gaussian(multiple=0)
    with pytest.raises(MirrormaskError, match=r"The 'mean' of gaussian must be one of batch, zero. Got 'zro'. Did you"):
        Gaussian(mean="zro")
    with pytest.raises(MirrormaskError, match=r"The 'deviation' of gaussian must be one of batch, one"):
        Gaussian(deviation="two")
