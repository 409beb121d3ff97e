from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.core.framing import frame_of
from mirrormask.data.text.vocabulary import word_starts
from mirrormask.methods import methods
from mirrormask.models.bulk import tokenize
from mirrormask.training.losses import Losses
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


def test_rows_carry_what_the_model_measured() -> None:
    losses = Losses()
    assert losses.take() == ([], None)
    for step in (1, 2):
        details = {"positive_cosine": torch.tensor(0.5 * step)} if step == 2 else {}
        losses.add(step, torch.tensor(2.0 * step), torch.tensor(1.0), 0.1, details)
    rows, broken = losses.take()
    assert broken is None
    assert [(row["step"], row["loss"], row.get("positive_cosine")) for row in rows] == [(1, 2.0, None), (2, 4.0, 1.0)]
    assert losses.take() == ([], None)


def test_the_first_broken_step_ends_the_rows() -> None:
    losses = Losses()
    for step, loss in enumerate([1.0, math.nan, 1.0], 1):
        losses.add(step, torch.tensor(loss), torch.tensor(1.0), 0.1, {"negative_cosine": torch.tensor(0.0)})
    rows, broken = losses.take()
    assert [row["step"] for row in rows] == [1]
    assert broken is not None
    assert broken.step == 2


def test_cosines_of_positives_and_negatives(tiny: Callable[..., Any], sentences: list[str]) -> None:
    from mirrormask.core.batch import Batch, Step

    encoder = tiny(pooling="mean")
    vocabulary = Vocabulary(frame_of(encoder.tokenizer), word_starts(encoder.tokenizer), None, frozenset())
    method = Method(encoder, methods.build("simcse-unsup"), vocabulary).train()
    assert method.similarities() == {}
    seen: list[Step] = []
    method.objective.register_forward_pre_hook(lambda _module, given: seen.append(given[0]))
    method(Batch((tokenize(encoder, sentences[:5]),)), 0)
    (step,) = seen
    cosine = torch.nn.functional.cosine_similarity
    table = [[cosine(a, p, dim=0).item() for p in step.positive] for a in step.anchor]
    found = method.similarities()
    own = sum(table[i][i] for i in range(5)) / 5
    others = sum(table[i][j] for i in range(5) for j in range(5) if i != j) / 20
    assert found["positive_cosine"].item() == pytest.approx(own, abs=1e-5)
    assert found["negative_cosine"].item() == pytest.approx(others, abs=1e-5)


def test_an_update_that_was_not_made_is_broken_too() -> None:
    losses = Losses()
    losses.add(4, torch.tensor(1.0), torch.tensor(2.0), 0.1, updated=False)
    rows, broken = losses.take()
    assert rows == []
    assert str(broken) == "The update of step 4 makes weights that are no numbers"
