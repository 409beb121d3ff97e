from __future__ import annotations

import pytest
import torch
from torch import Tensor

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives import remember
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import InfoNCE

CRITERION = InfoNCE()


def step(number: int, rows: int = 3) -> Step:
    """Return a step whose positives say which step and row they are."""
    positive = torch.tensor([[float(number), float(row)] for row in range(rows)])
    return Step(Batch((Tokens(()),)), torch.zeros(rows, 2), positive)


@pytest.mark.parametrize("size", [0, 1, 3, 5, 7, 100])
def test_against_a_list(size: int) -> None:
    bank = MemoryBank(size=size)
    seen: list[list[float]] = []
    for number in range(6):
        held = bank.draw(step(number), CRITERION)
        expected = seen[: size or 3]
        assert ([] if held is None else held.tolist()) == expected
        assert (held is None) == (number == 0)
        bank.observe(step(number))
        seen = step(number).positive.tolist() + seen


def test_what_was_drawn_stays_as_it_was() -> None:
    bank = MemoryBank(size=3)
    bank.observe(step(0))
    drawn = bank.draw(step(1), CRITERION)
    assert drawn is not None
    kept = drawn.clone()
    bank.observe(step(1))
    assert torch.equal(drawn, kept)


def test_the_buffer_stays_the_same_object() -> None:
    """Those who hold it, as processes that share buffers do, see every change."""
    bank = MemoryBank(size=4)
    held: Tensor = bank.bank
    for number in range(3):
        bank.observe(step(number))
    assert held is bank.bank
    assert held.shape == (4, 2)


def test_a_larger_last_batch() -> None:
    buffer = torch.empty(0)
    remember(buffer, torch.ones(2, 3), 4)
    remember(buffer, 2 * torch.ones(6, 3), 4)
    assert buffer.tolist() == [[2.0] * 3] * 4


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'size' of memory-bank must be at least 0. Got -1"):
        MemoryBank(size=-1)
