from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from mirrormask.core.batch import Batch
from mirrormask.core.framing import frame_of
from mirrormask.evaluation.selection import HeldOutLoss
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.negatives.memory_bank import MemoryBank
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


class Given:
    """Two batches of held-out text."""

    def __init__(self, batches: list[Batch]) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def at(self, number: int) -> Batch:
        return self.batches[number]


@pytest.fixture
def scored(tiny: Callable[..., Any], sentences: list[str]) -> tuple[Method, HeldOutLoss]:
    encoder = tiny(pooling="mean")
    vocabulary = Vocabulary(frame_of(encoder.tokenizer), np.ones(200, dtype=np.bool_), None, frozenset())
    method = Method(encoder, methods.build("simcse-unsup"), vocabulary)
    batches = Given([Batch((tokenize(encoder, sentences[i : i + 8]),)) for i in (0, 8)])
    return method, HeldOutLoss(method, batches)  # type: ignore[arg-type]


def test_the_same_weights_get_the_same_score(scored: tuple[Method, HeldOutLoss]) -> None:
    _, score = scored
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(score())
    assert found[0] == found[1]
    assert found[0].value == pytest.approx(-found[0].details["held_out_loss"], abs=0.0051)
    assert found[0].value < 0


def test_it_leaves_the_method_as_it_was(scored: tuple[Method, HeldOutLoss]) -> None:
    method, score = scored
    for training in (True, False):
        method.train(training)
        score()
        assert method.training is training
    assert all(p.grad is None for p in method.parameters())


def test_a_method_that_learned_its_task_scores_higher(scored: tuple[Method, HeldOutLoss], sentences: list[str]) -> None:
    method, score = scored
    before = score().value
    optimizer = torch.optim.AdamW(method.parameters(), lr=1e-3)
    other = Batch((tokenize(method.encoder, sentences[100:132]),))
    method.train()
    for step in range(25):
        torch.manual_seed(step)
        optimizer.zero_grad()
        method(other, step).backward()
        optimizer.step()
    assert score().value > before


def test_negatives_that_a_source_remembers_do_not_count(
    scored: tuple[Method, HeldOutLoss], sentences: list[str]
) -> None:
    """Else the first checkpoint, when nothing is remembered yet, would have the easiest task."""
    method, score = scored
    plain = score()
    bank = MemoryBank(size=16)
    method.negatives = bank
    assert score() == plain
    method.train()(Batch((tokenize(method.encoder, sentences[100:116]),)), 0)
    method.observe()
    assert score() == plain
    assert method.negatives is bank
    assert len(bank.bank) == 16
