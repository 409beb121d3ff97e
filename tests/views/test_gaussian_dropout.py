from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.gaussian_dropout import GaussianDropout, multiply_noise


def test_equals_the_loop() -> None:
    x = torch.randn(2, 3, 4)
    torch.manual_seed(1)
    found = multiply_noise(x, 0.5)
    torch.manual_seed(1)
    noise = torch.randn(2, 3, 4)
    for i in range(2):
        for t in range(3):
            for j in range(4):
                assert found[i, t, j].item() == pytest.approx(
                    x[i, t, j].item() * (1 + 0.5 * noise[i, t, j].item()), rel=1e-5
                )


def test_the_factor_has_mean_one_and_the_deviation_asked_for() -> None:
    torch.manual_seed(0)
    factor = multiply_noise(torch.full((200, 10, 50), 2.0, dtype=torch.float64), 0.001) / 2.0
    assert factor.mean().item() == pytest.approx(1, abs=2e-5)
    assert factor.std().item() == pytest.approx(0.001, rel=0.02)
    assert torch.equal(multiply_noise(torch.zeros(3, 2, 2), 0.5), torch.zeros(3, 2, 2)), "zero stays zero"


def test_the_gradient_is_the_factor() -> None:
    x = torch.ones(2, 3, 4, requires_grad=True)
    seen = GaussianDropout(0.1).words(x, torch.ones(2, 3))
    seen.sum().backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(x.grad, seen.detach())


def test_a_sigma_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'sigma' of gaussian-dropout must be above 0. Got 0"):
        GaussianDropout(0.0)
