from __future__ import annotations

import math

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.output_noise import OutputNoise, add_batch_noise


def test_equals_the_loop() -> None:
    z = torch.randn(5, 3, dtype=torch.float64)
    torch.manual_seed(1)
    found = add_batch_noise(z, 0.5)
    torch.manual_seed(1)
    noise = torch.randn(5, 3, dtype=torch.float64)
    for j in range(3):
        column = [z[i, j].item() for i in range(5)]
        mean = sum(column) / 5
        deviation = math.sqrt(sum((value - mean) ** 2 for value in column) / 4)
        for i in range(5):
            assert found[i, j].item() == pytest.approx(column[i] + 0.5 * deviation * noise[i, j].item())


def test_the_noise_is_as_wide_as_the_batch() -> None:
    torch.manual_seed(0)
    z = torch.randn(4000, 3) * torch.tensor([0.1, 1.0, 10.0]) + 5
    noise = add_batch_noise(z, 1.0) - z
    torch.testing.assert_close(noise.std(dim=0), z.std(dim=0), rtol=0.05, atol=0)
    assert torch.equal(add_batch_noise(z[:1], 1.0), z[:1]), "one row has no deviation"


def test_no_gradient_flows_through_the_deviation() -> None:
    z = torch.randn(4, 3, requires_grad=True)
    OutputNoise().output(z).sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(z.grad, torch.ones(4, 3))  # type: ignore[arg-type]


def test_a_scale_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'scale' of output-noise must be above 0. Got 0"):
        OutputNoise(0.0)
