from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.mixture import Mixture, maximized, mixture_noise, responsibilities
from mirrormask.objectives.info_nce import InfoNCE

CRITERION = InfoNCE()

CENTERS = torch.tensor([[4.0, 0.0, 0.0], [-4.0, 1.0, 2.0]])


def rows(count: int = 60, seed: int = 1, shift: float = 0.0) -> torch.Tensor:
    drawn = torch.Generator().manual_seed(seed)
    return CENTERS[torch.arange(count) % 2] + 0.5 * torch.randn(count, 3, generator=drawn) + shift


def start(k: int = 3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    drawn = torch.Generator().manual_seed(9)
    return torch.full((k,), 1 / k), torch.randn(k, 3, generator=drawn), torch.ones(k, 3) + torch.arange(k)[:, None]


def test_the_e_step_against_a_loop() -> None:
    x, (weights, means, variances) = rows(7), start()
    found = responsibilities(x, weights, means, variances)
    for i in range(7):
        densities = []
        for k in range(3):
            density = weights[k].item()
            for j in range(3):
                v = variances[k, j].item()
                density *= math.exp(-((x[i, j] - means[k, j]).item() ** 2) / (2 * v)) / math.sqrt(2 * math.pi * v)
            densities.append(density)
        for k in range(3):
            assert found[i, k].item() == pytest.approx(densities[k] / sum(densities), abs=1e-5)


def test_the_m_step_against_a_loop() -> None:
    x = rows(7)
    shares = torch.softmax(torch.randn(7, 2, generator=torch.Generator().manual_seed(2)), dim=1)
    weights, means, variances = maximized(x, shares, floor=1e-3)
    for k in range(2):
        total = sum(shares[i, k].item() for i in range(7))
        assert weights[k].item() == pytest.approx(total / 7, rel=1e-4)
        for j in range(3):
            mean = sum(shares[i, k].item() * x[i, j].item() for i in range(7)) / total
            spread = sum(shares[i, k].item() * (x[i, j].item() - mean) ** 2 for i in range(7)) / total
            assert means[k, j].item() == pytest.approx(mean, abs=1e-4)
            assert variances[k, j].item() == pytest.approx(spread + 1e-3, rel=1e-3)


@pytest.mark.parametrize("shift", [0.0, 30.0])
@pytest.mark.filterwarnings("ignore:.*did not converge.*")
def test_the_same_steps_as_scikit_learn(shift: float) -> None:
    from sklearn.mixture import GaussianMixture

    x = rows(shift=shift)
    found = tuple(start())
    found = (found[0], found[1] + shift, found[2])
    theirs = GaussianMixture(
        3,
        covariance_type="diag",
        tol=0.0,
        reg_covar=1e-6,
        max_iter=4,
        weights_init=found[0].double().numpy() / found[0].double().sum().item(),
        means_init=found[1].double().numpy(),
        precisions_init=1 / found[2].double().numpy(),
        random_state=0,
    ).fit(x.double().numpy())
    for _ in range(4):
        found = maximized(x, responsibilities(x, *found), floor=1e-6)
    np.testing.assert_allclose(found[0], theirs.weights_, atol=1e-4)
    np.testing.assert_allclose(found[1], theirs.means_, atol=2e-3)
    np.testing.assert_allclose(found[2], theirs.covariances_, rtol=5e-3, atol=1e-4)


def test_draws_have_the_weights_means_and_variances_of_the_mixture() -> None:
    torch.manual_seed(0)
    weights, variances = torch.tensor([0.2, 0.8]), torch.tensor([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    drawn = mixture_noise(100_000, weights, 10 * CENTERS, variances)
    first = drawn[:, 0] > 0
    assert first.float().mean().item() == pytest.approx(0.2, abs=0.01)
    for component, chosen in enumerate((first, ~first)):
        torch.testing.assert_close(drawn[chosen].mean(dim=0), 10 * CENTERS[component], rtol=0, atol=0.02)
        torch.testing.assert_close(drawn[chosen].var(dim=0), variances[component], rtol=0.05, atol=0)


def test_it_follows_what_it_sees() -> None:
    torch.manual_seed(0)
    source = Mixture(components=2, memory=3)
    steps = [Step(rows(20, seed), rows(20, seed)) for seed in range(12)]
    assert source.draw(steps[0], CRITERION) is None
    for each in steps:
        source.observe(each)
    assert source.rows.shape == (60, 3)
    order = source.means[:, 0].argsort(descending=True)
    torch.testing.assert_close(source.means[order], CENTERS, rtol=0, atol=0.3)
    drawn = source.draw(steps[0], CRITERION)
    assert drawn is not None
    assert drawn.shape == (20, 3)


def test_more_components_than_rows() -> None:
    source = Mixture(components=8)
    step = Step(rows(3), rows(3))
    source.observe(step)
    drawn = source.draw(step, CRITERION)
    assert drawn is not None
    assert torch.isfinite(drawn).all()


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'components' of mixture must be at least 1. Got 0"):
        Mixture(components=0)
    with pytest.raises(MirrormaskError, match=r"The 'floor' of mixture must be above 0. Got 0"):
        Mixture(floor=0)
