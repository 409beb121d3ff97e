from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import tokenize
from mirrormask.negatives import remember
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary

CRITERION = InfoNCE()


def step(number: int, rows: int = 3) -> Step:
    """Return a step whose positives say which step and row they are."""
    positive = torch.tensor([[float(number), float(row)] for row in range(rows)])
    return Step(torch.zeros(rows, 2), positive)


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


def test_a_slow_encoder_fills_the_bank_as_in_esimcse(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """The bank holds what the slow encoder makes of the anchors, without dropout; it makes no positive."""
    encoder, head = tiny(pooling="mean"), nn.Linear(32, 32)
    start = [p.detach().clone() for p in (*encoder.parameters(), *head.parameters())]
    bank = MemoryBank(size=20, momentum=0.75)
    parts = composition(["dropout", "word-repetition"])
    method = Method(
        encoder, dataclasses.replace(parts, negatives=bank), Vocabulary.of(encoder), head=head, parts=2
    ).train()
    with torch.no_grad():
        for weight in (*encoder.parameters(), *head.parameters()):
            weight.add_(0.1 * torch.randn_like(weight))
    batches = [Batch((tokenize(encoder, sentences[i : i + 8]),)) for i in (0, 8)]
    for batch in batches:
        method(batch, 0)
    method.observe()
    slow = (*bank.encoder.parameters(), *bank.head.parameters())  # type: ignore[union-attr]
    for found, old, new in zip(slow, start, (*encoder.parameters(), *head.parameters()), strict=True):
        torch.testing.assert_close(found, 0.75 * old + 0.25 * new, atol=1e-6, rtol=1e-5)
    with torch.no_grad():
        expected = bank.head(torch.from_numpy(bank.encoder.eval().encode(sentences[:16])))  # type: ignore[misc]
    torch.testing.assert_close(bank.bank, expected, atol=1e-5, rtol=1e-4)
    assert not any(p.requires_grad for p in bank.parameters())
    assert any(name.startswith("negatives.encoder.") for name in method.state_dict()), "and it joins checkpoints"
    method(batches[0], 0).backward()


def test_a_momentum_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'momentum' of memory-bank must be at least 0 and below 1. Got 1"):
        MemoryBank(momentum=1.0)
