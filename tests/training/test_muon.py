from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mirrormask.training.muon import COEFFICIENTS, MOMENTUM, SCALE, STEPS, orthogonal
from mirrormask.training.optimizer import adamw, muon


def by_hand(matrix: torch.Tensor) -> torch.Tensor:
    """The polynomial on the singular values alone, which leaves the singular vectors as they are."""
    u, s, v = torch.linalg.svd(matrix.double(), full_matrices=False)
    s = s / (s.square().sum().sqrt() + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        s = a * s + b * s**3 + c * s**5
    return (u * s) @ v


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9)])
def test_singular_values_follow_the_polynomial(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    matrices = torch.randn(3, *shape)
    for found, matrix in zip(orthogonal(matrices), matrices, strict=True):
        torch.testing.assert_close(found.double(), by_hand(matrix), atol=1e-4, rtol=1e-3)
        assert 0.3 < torch.linalg.svdvals(found)[0] < 1.3


class Small(nn.Module):
    """A table, two matrices of one shape and one of another, biases and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.first = nn.Linear(8, 8)
        self.layers = nn.Sequential(self.first, nn.Tanh(), nn.Linear(8, 8), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.layers(self.table(ids)).square().mean()


def test_two_updates_are_those_of_a_loop() -> None:
    torch.manual_seed(0)
    ours, theirs = (model := Small()), copy.deepcopy(model)
    optimizer = muon(ours, learning_rate=0.02, weight_decay=0.1, betas=(0.9, 0.98))
    inner = [name for name, p in theirs.named_parameters() if p.ndim == 2 and name != "table.weight"]
    rest = [{"params": [theirs.table.weight], "weight_decay": 0.1}]
    rest += [{"params": [p for p in theirs.parameters() if p.ndim < 2], "weight_decay": 0.0}]
    reference = torch.optim.AdamW(rest, lr=0.02, betas=(0.9, 0.98))
    momenta = {name: torch.zeros_like(p) for name, p in theirs.named_parameters()}
    for step in range(2):
        ids = torch.arange(10).roll(step)[:6]
        for model in (ours, theirs):
            model.zero_grad()
            model(ids).backward()
        optimizer.step()
        reference.step()
        with torch.no_grad():
            for name, p in theirs.named_parameters():
                if name not in inner or p.grad is None:
                    continue
                momenta[name] = MOMENTUM * momenta[name] + (1 - MOMENTUM) * p.grad
                ahead = (1 - MOMENTUM) * p.grad + MOMENTUM * momenta[name]
                p.mul_(1 - 0.02 * 0.1).sub_(0.02 * SCALE * max(p.shape) ** 0.5 * by_hand(ahead).float())
        for (name, p), q in zip(ours.named_parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(p, q, atol=2e-5, rtol=1e-3, msg=name)


def test_tables_and_vectors_are_adamws() -> None:
    optimizer = muon(Small(), learning_rate=0.01, weight_decay=0.0, betas=(0.9, 0.98))
    shapes = [sorted(tuple(p.shape) for p in group["params"]) for group in optimizer.param_groups]
    assert shapes == [[(3, 8), (8, 8), (8, 8)], [(10, 8)], [(3,), (8,), (8,), (8,), (8,)]]
    assert [group["muon"] for group in optimizer.param_groups] == [True, False, False]


def test_a_gradient_that_is_no_number_moves_nothing() -> None:
    model = Small()
    optimizer = muon(model, learning_rate=0.01, weight_decay=0.1, betas=(0.9, 0.98))
    before = copy.deepcopy(model.state_dict())
    for p in model.parameters():
        p.grad = torch.full_like(p, float("nan"))
    optimizer.found_inf, optimizer.grad_scale = torch.ones(()), None  # type: ignore[attr-defined]
    optimizer.step()
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert all(torch.isfinite(s["momentum"]).all() for s in optimizer.state.values() if "momentum" in s)


def test_its_state_goes_through_a_checkpoint() -> None:
    torch.manual_seed(0)
    one = Small()
    other = copy.deepcopy(one)
    make = {"learning_rate": 0.02, "weight_decay": 0.1, "betas": (0.9, 0.98)}
    first, second = muon(one, **make), muon(other, **make)  # type: ignore[arg-type]
    for model, optimizer in ((one, first), (other, second)):
        model(torch.arange(6)).backward()
        optimizer.step()
        optimizer.zero_grad()
    resumed = muon(other, **make)  # type: ignore[arg-type]
    resumed.load_state_dict(second.state_dict())
    for model, optimizer in ((one, first), (other, resumed)):
        model(torch.arange(6)).backward()
        optimizer.step()
    assert all(torch.equal(p, q) for p, q in zip(one.parameters(), other.parameters(), strict=True))


def test_it_is_another_optimizer_than_adamw() -> None:
    torch.manual_seed(0)
    one = Small()
    other = copy.deepcopy(one)
    for model, make in ((one, adamw), (other, muon)):
        optimizer = make(model, learning_rate=0.02, weight_decay=0.0, betas=(0.9, 0.98))
        model(torch.arange(6)).backward()
        optimizer.step()
    assert not torch.allclose(one.first.weight, other.first.weight, atol=1e-3)
    assert torch.equal(one.table.weight, other.table.weight)
