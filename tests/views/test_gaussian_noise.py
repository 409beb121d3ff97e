from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.gaussian_noise import GaussianNoise, add_noise


def test_equals_the_loop() -> None:
    x = torch.randn(2, 3, 4)
    torch.manual_seed(1)
    found = add_noise(x, 0.5)
    torch.manual_seed(1)
    noise = torch.randn(2, 3, 4)
    for i in range(2):
        for t in range(3):
            for j in range(4):
                assert found[i, t, j].item() == pytest.approx(x[i, t, j].item() + 0.5 * noise[i, t, j].item())


def test_the_noise_has_mean_zero_and_the_deviation_asked_for() -> None:
    torch.manual_seed(0)
    moved = add_noise(torch.full((200, 10, 50), 3.0), 0.001) - 3.0
    assert abs(moved.mean().item()) < 2e-5
    assert moved.std().item() == pytest.approx(0.001, rel=0.02)


def test_gradients_pass_as_they_are() -> None:
    x = torch.randn(2, 3, 4, requires_grad=True)
    GaussianNoise(0.1).words(x, torch.ones(2, 3)).sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(x.grad, torch.ones(2, 3, 4))  # type: ignore[arg-type]


@pytest.mark.parametrize("sigma", [0, -1.0, float("nan")])
def test_a_sigma_that_cannot_be(sigma: float) -> None:
    with pytest.raises(MirrormaskError, match="The 'sigma' of gaussian-noise must be above 0. Got"):
        GaussianNoise(sigma)
