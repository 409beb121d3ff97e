from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.mirror_nce import MirrorNCE
from mirrormask.objectives.sup_con import SupCon, same_class, sup_con


def vectors(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def cos(a: Tensor, b: Tensor) -> float:
    return float(a @ b / (a.norm() * b.norm()))


def by_loop(rows: Tensor, labels: list[set[int]], temperature: float, extra: Tensor | None = None) -> float:
    losses = []
    for i in range(len(rows)):
        others = [j for j in range(len(rows)) if j != i]
        positives = [j for j in others if labels[i] & labels[j]]
        total = sum(math.exp(cos(rows[i], rows[j]) / temperature) for j in others)
        total += sum(math.exp(cos(rows[i], e) / temperature) for e in (extra if extra is not None else []))
        if positives:
            losses.append(
                sum(math.log(total) - cos(rows[i], rows[p]) / temperature for p in positives) / len(positives)
            )
    return sum(losses) / len(losses)


@pytest.mark.parametrize("labels", [[0, 1, 0, 1, 2, 2, 0], [0, 0, 0, 0, 0, 0, 0], [0, 1, 2, 3, 4, 5, 5]])
@pytest.mark.parametrize("temperature", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("extra", [0, 3])
def test_equals_the_loop(labels: list[int], temperature: float, extra: int) -> None:
    rows, more = vectors(7, 5), vectors(extra, 5, seed=1) if extra else None
    found = sup_con(rows, same_class(torch.tensor(labels)), temperature=temperature, extra=more)
    assert found.item() == pytest.approx(by_loop(rows, [{y} for y in labels], temperature, more), abs=1e-10)


def test_rows_that_share_one_of_several_labels_are_positives() -> None:
    rows, labels = vectors(5, 4), [{0, 1}, {1}, {2}, {2, 3}, {4}]
    hot = torch.tensor([[int(y in each) for y in range(5)] for each in labels])
    found = sup_con(rows, same_class(hot), temperature=0.3)
    assert found.item() == pytest.approx(by_loop(rows, labels, 0.3), abs=1e-10)


@pytest.mark.parametrize("labels", [[0, 1, 2, 3], [0, 0, 1, 2], [0]])
def test_an_anchor_without_a_positive_is_no_nan(labels: list[int]) -> None:
    rows = vectors(len(labels), 4).requires_grad_()
    loss = sup_con(rows, same_class(torch.tensor(labels)), temperature=0.3)
    loss.backward()
    assert rows.grad is not None
    assert torch.isfinite(loss) and torch.isfinite(rows.grad).all()
    assert (loss.item() == 0) == (len(set(labels)) == len(labels))


def test_without_labels_it_is_the_loss_of_two_views() -> None:
    step = Step(vectors(6, 8), vectors(6, 8, seed=1))
    assert SupCon(0.2)(step).item() == pytest.approx(MirrorNCE(temperature=0.2)(step).item(), abs=1e-10)


def test_two_views_of_a_text_are_positives_and_so_is_its_class() -> None:
    anchor, positive, labels = vectors(3, 4), vectors(3, 4, seed=1), [4, 7, 4]
    step = Step(anchor, positive, labels=torch.tensor(labels))
    expected = by_loop(torch.cat([anchor, positive]), [{y} for y in labels * 2], 0.3)
    assert SupCon()(step).item() == pytest.approx(expected, abs=1e-10)


def test_the_temperature_is_above_0() -> None:
    with pytest.raises(MirrormaskError, match="'temperature' of sup-con must be above 0"):
        SupCon(temperature=0.0)
