from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one
from torch import Tensor

from mirrormask.core.batch import Tokens
from mirrormask.methods import methods


def test_a_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """Shuffled tokens on one side; with nothing cut off, the sentence itself on the other."""
    for faithful in (False, True):
        method = built(tiny, "consert", temperature=0.2, cutoff=0.0, faithful=faithful)
        batch = batch_of(method.encoder, sentences)
        found = method(batch, 5)
        rng = np.random.default_rng(5)
        shuffled = []
        for row in batch.columns[0].rows:
            if faithful:  # special tokens move too
                shuffled.append(row[rng.permutation(len(row))])
            else:
                shuffled.append(np.concatenate([row[:1], row[1:-1][rng.permutation(len(row) - 2)], row[-1:]]))
        both: list[Tensor] = [
            *one_by_one(method.encoder, Tokens.of(shuffled)),
            *one_by_one(method.encoder, batch.columns[0]),
        ]
        expected = 0.0
        for i, mine in enumerate(both):
            scores = [torch.exp(cos(mine, other) / 0.2) for k, other in enumerate(both) if k != i]
            partner = torch.exp(cos(mine, both[(i + ROWS) % (2 * ROWS)]) / 0.2)
            expected -= torch.log(partner / sum(scores)).item() / (2 * ROWS)
        assert abs(found.item() - expected) < 1e-10


def test_it_has_the_published_constants() -> None:
    built = methods.build("consert")
    record = built.record()
    assert record["views"][0]["views"] == [
        {"type": "Dropout", "rate": 0.0},
        {"type": "TokenShuffle", "faithful": False},
    ]
    assert record["views"][1]["views"] == [{"type": "Dropout", "rate": 0.0}, {"type": "FeatureCutoff", "rate": 0.2}]
    assert (record["objective"]["temperature"], built.pooling) == (0.1, "last-2")
    assert (built.training["batch_size"], built.training["learning_rate"]) == (96, 5e-7)
