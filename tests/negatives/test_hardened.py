from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.gaussian import Gaussian
from mirrormask.negatives.hardened import Hardened, harden
from mirrormask.objectives.info_nce import InfoNCE

OBJECTIVE = InfoNCE(temperature=0.2)


def step(seed: int = 1) -> Step:
    drawn = torch.Generator().manual_seed(seed)
    anchor = torch.randn(6, 8, generator=drawn, dtype=torch.float64)
    return Step(anchor.requires_grad_(), anchor + 0.1)


def loss_with(extra: Tensor) -> float:
    import dataclasses

    return OBJECTIVE(dataclasses.replace(step(), extra=extra)).item()


@pytest.mark.parametrize("direction", ["sign", "gradient"])
def test_it_raises_the_loss(direction: str) -> None:
    torch.manual_seed(0)
    noise = torch.randn(5, 8, dtype=torch.float64)
    scale = torch.ones(8, dtype=torch.float64)
    found = harden(noise, step(), OBJECTIVE, size=0.05, scale=scale, direction=direction)
    back = harden(noise, step(), OBJECTIVE, size=-0.05, scale=scale, direction=direction)
    assert loss_with(found) > loss_with(noise) > loss_with(back)


def test_the_sign_against_differences() -> None:
    """The sign of each coordinate's step is that of the loss's finite difference."""
    torch.manual_seed(0)
    noise = torch.randn(2, 8, dtype=torch.float64)
    scale = torch.arange(1, 9, dtype=torch.float64)
    moved = harden(noise, step(), OBJECTIVE, size=0.1, scale=scale) - noise
    for i in range(2):
        for j in range(8):
            up, down = noise.clone(), noise.clone()
            up[i, j] += 1e-5
            down[i, j] -= 1e-5
            expected = 0.1 * scale[j].item() * math.copysign(1, loss_with(up) - loss_with(down))
            assert moved[i, j].item() == pytest.approx(expected)


def test_the_gradient_step_has_the_length_asked() -> None:
    torch.manual_seed(0)
    noise = torch.randn(5, 8, dtype=torch.float64)
    ones = torch.ones(8, dtype=torch.float64)
    moved = harden(noise, step(), OBJECTIVE, size=0.1, scale=ones, direction="gradient") - noise
    torch.testing.assert_close(moved.norm(dim=1), 0.1 * noise.norm(dim=1))


def test_it_starts_from_gaussian_and_sends_nothing_back() -> None:
    torch.manual_seed(3)
    plain = Gaussian(mean="batch", deviation="batch").draw(step(), OBJECTIVE)
    torch.manual_seed(3)
    with torch.no_grad():  # as where a held-out loss is measured
        found = Hardened(mean="batch", deviation="batch", size=1e-9).draw(step(), OBJECTIVE)
    torch.testing.assert_close(found, plain)
    assert not found.requires_grad
    assert step().anchor.grad is None


def test_more_steps_are_harder() -> None:
    losses = []
    for steps in (1, 3):
        torch.manual_seed(3)
        losses.append(loss_with(Hardened(steps=steps, size=0.05).draw(step(), OBJECTIVE)))
    assert losses[1] > losses[0]


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'direction' of hardened must be one of sign, gradient. Got 'up'"):
        Hardened(direction="up")
    with pytest.raises(MirrormaskError, match=r"The 'steps' of hardened must be at least 1. Got 0"):
        Hardened(steps=0)
