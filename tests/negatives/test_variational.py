from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.variational import Variational, adam_step, layer_sizes, layers_of, negative_elbo
from mirrormask.objectives.info_nce import InfoNCE

CRITERION = InfoNCE()

SIZES = layer_sizes(5, 4, 2)


def flat() -> torch.Tensor:
    count = sum(ins * out + out for ins, out in SIZES)
    return torch.randn(count, generator=torch.Generator().manual_seed(1), dtype=torch.float64)


def rows(seed: int = 2, count: int = 6) -> torch.Tensor:
    return torch.randn(count, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_loss_against_a_loop() -> None:
    x, noise = rows(), torch.randn(6, 2, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    layers = layers_of(flat(), SIZES)
    total = 0.0
    for i in range(6):

        def apply(vector: list[float], layer: int) -> list[float]:
            weight, bias = layers[layer]
            return [
                sum(w * v for w, v in zip(row, vector, strict=True)) + b
                for row, b in zip(weight.tolist(), bias.tolist(), strict=True)
            ]

        both = apply([math.tanh(v) for v in apply(x[i].tolist(), 0)], 1)
        mean, log_variance = both[:2], both[2:]
        z = [m + math.exp(v / 2) * e for m, v, e in zip(mean, log_variance, noise[i].tolist(), strict=True)]
        made = apply([math.tanh(v) for v in apply(z, 2)], 3)
        total += 0.5 * sum((a - b) ** 2 for a, b in zip(x[i].tolist(), made, strict=True))
        total += 0.5 * sum(math.exp(v) + m * m - 1 - v for m, v in zip(mean, log_variance, strict=True))
    assert negative_elbo(x, layers, noise).item() == pytest.approx(total / 6)


def test_zero_weights_are_the_prior() -> None:
    """Without weights the divergence is 0 and what is left is half the squared length of the rows."""
    layers = layers_of(torch.zeros_like(flat()), SIZES)
    x = rows()
    loss = negative_elbo(x, layers, torch.zeros(6, 2, dtype=torch.float64))
    torch.testing.assert_close(loss, 0.5 * x.square().sum(dim=1).mean())


def test_its_adam_is_adam() -> None:
    ours = flat()
    theirs = nn.Parameter(ours.clone())
    optimizer = torch.optim.Adam([theirs], lr=0.01)
    moments, taken = torch.zeros(2, len(ours), dtype=torch.float64), torch.zeros(())
    for number in range(5):
        gradient = torch.randn(len(ours), generator=torch.Generator().manual_seed(number), dtype=torch.float64)
        theirs.grad = gradient.clone()
        optimizer.step()
        adam_step(ours, gradient, moments, taken, 0.01)
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


def step(seed: int) -> Step:
    """Return vectors on a line in space, with a little noise: one latent dimension tells them."""
    drawn = torch.Generator().manual_seed(seed)
    line = torch.randn(32, 1, generator=drawn) * torch.tensor([[1.0, -2.0, 0.5, 3.0]])
    anchor = line + 0.05 * torch.randn(32, 4, generator=drawn) + torch.tensor([5.0, 0.0, 0.0, 0.0])
    return Step(anchor, anchor)


def test_it_learns_the_distribution() -> None:
    torch.manual_seed(0)
    source = Variational(multiple=30.0, latent=1, hidden=16, fits=8, learning_rate=0.01)
    assert source.draw(step(0), CRITERION) is None
    for number in range(60):
        source.observe(step(number))
    assert source.rows.shape == (8 * 32, 4)
    drawn = source.draw(step(0), CRITERION)
    assert drawn is not None
    assert drawn.shape == (960, 4)
    seen = source.rows
    torch.testing.assert_close(drawn.mean(dim=0), seen.mean(dim=0), rtol=0, atol=0.5)
    assert torch.corrcoef(drawn.T)[1, 3].item() < -0.95, "the dimensions vary together as they did"
    assert 0.5 < (drawn[:, 3].std() / seen[:, 3].std()).item() < 1.5


def test_the_runs_own_optimizer_does_not_see_it() -> None:
    source = Variational()
    source.observe(step(0))
    assert list(source.parameters()) == []
    assert not any(buffer.requires_grad for buffer in source.buffers())


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'latent' of variational must be at least 1. Got 0"):
        Variational(latent=0)
    with pytest.raises(MirrormaskError, match=r"The 'learning_rate' of variational must be above 0. Got 0"):
        Variational(learning_rate=0)
