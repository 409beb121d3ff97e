from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.objectives.label_aware import label_aware
from mirrormask.objectives.sup_con import same_class, sup_con


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_loop(rows: Tensor, labels: list[int], logits: Tensor, temperature: float) -> float:
    """Return the loss as the authors' code has it, entry by entry."""
    losses = []
    units = [row / row.norm() for row in rows]
    for i, anchor in enumerate(units):
        total = sum(math.exp(x) for x in logits[i].tolist())
        weight = [math.exp(x) / total for x in logits[i].tolist()]
        scores = {j: float(anchor @ other) / temperature for j, other in enumerate(units) if j != i}
        below = sum(weight[labels[j]] * math.exp(score) for j, score in scores.items())
        positives = [j for j in scores if labels[j] == labels[i]]
        if positives:
            logs = [math.log(math.exp(scores[p]) / below) for p in positives]
            losses.append(-weight[labels[i]] * sum(logs) / len(positives))
    return sum(losses) / len(losses)


@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 2, 2, 0], [0, 0, 0, 0, 0, 0, 0], [0, 1, 2, 3, 3, 4, 0]])
@pytest.mark.parametrize("temperature", [0.1, 0.3, 1.0])
def test_equals_the_loop(labels: list[int], temperature: float) -> None:
    rows, logits = vectors(7, 6), vectors(7, 5, seed=1)
    found = label_aware(rows, torch.tensor(labels), logits, temperature=temperature)
    assert found.item() == pytest.approx(by_loop(rows, labels, logits, temperature), abs=1e-10)


def test_equal_weights_leave_supervised_contrast() -> None:
    """w = 1/C everywhere: the loss is 1/C (SupCon + log 1/C)."""
    rows, labels = vectors(6, 4), torch.tensor([0, 1, 0, 1, 2, 2])
    found = label_aware(rows, labels, torch.zeros(6, 3, dtype=torch.float64), temperature=0.3)
    plain = sup_con(rows, same_class(labels), temperature=0.3)
    assert found.item() == pytest.approx((plain.item() - math.log(3)) / 3, abs=1e-10)


@pytest.mark.parametrize("detach", [False, True])
def test_the_weighting_network_learns_through_it_unless_detached(detach: bool) -> None:
    rows, logits = vectors(4, 4).requires_grad_(), vectors(4, 3, seed=1).requires_grad_()
    label_aware(rows, torch.tensor([0, 0, 1, 1]), logits, temperature=0.3, detach=detach).backward()
    assert rows.grad is not None and rows.grad.abs().sum() > 0
    assert (logits.grad is None) == detach


@pytest.mark.parametrize("labels", [[0, 1, 2], [0, 0, 1], [2]])
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_no_nan_without_a_positive_nor_with_a_sure_network(labels: list[int], size: float) -> None:
    rows = vectors(len(labels), 4).float().requires_grad_()
    logits = (size * vectors(len(labels), 3, seed=1).float()).requires_grad_()
    loss = label_aware(rows, torch.tensor(labels), logits, temperature=0.1)
    loss.backward()
    assert torch.isfinite(loss)
    for leaf in (rows, logits):
        assert leaf.grad is not None and torch.isfinite(leaf.grad).all()
