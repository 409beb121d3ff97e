"""CERT and back-translation: the step against a loop in float64."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.core.batch import Batch


def columns(encoder: Any, sentences: list[str], first: int) -> Batch:
    return Batch(tuple(batch_of(encoder, sentences, at).columns[0] for at in (first, first + 50)))


def test_the_queue_holds_what_the_slow_encoder_saw(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "cert", queue=9)
    before, batch = (columns(method.encoder, sentences, first) for first in (0, 10))
    remembered = one_by_one(method.encoder, before.columns[1])  # the slow encoder is still the start
    method(before, 0)
    method.observe()
    found = method(batch, 1).item()
    anchors, positives = (one_by_one(method.encoder, column) for column in batch.columns)
    expected = 0.0
    for i in range(ROWS):
        scores = [cos(anchors[i], other).item() / 0.07 for other in (*positives, *remembered)]
        expected -= math.log(math.exp(scores[i]) / sum(map(math.exp, scores)))
    assert found == pytest.approx(expected / ROWS, abs=1e-10)
    method.observe()
    assert method.negatives is not None
    assert len(method.negatives.bank) == 9, "no more than its size"  # type: ignore[arg-type]


def test_a_translation_finds_its_sentence(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "back-translation")
    batch = columns(method.encoder, sentences, 0)
    found = method(batch, 0).item()
    assert method.head is not None
    anchors, positives = (method.head(one_by_one(method.encoder, column)) for column in batch.columns)
    expected = 0.0
    for i in range(ROWS):
        scores = [cos(anchors[i], other).item() / 0.05 for other in positives]
        expected -= math.log(math.exp(scores[i]) / sum(map(math.exp, scores)))
    assert found == pytest.approx(expected / ROWS, abs=1e-10)
