from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.core.batch import Tokens
from mirrormask.methods import methods
from mirrormask.models.copies import follow
from mirrormask.views.word_repetition import repeat_tokens


def test_a_second_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """The queue holds what the slow encoder makes of the first step's sentences after the update."""
    for faithful in (False, True):
        method = built(tiny, "esimcse", temperature=0.3, momentum=0.7, faithful=faithful)
        slow, slow_head = copy.deepcopy(method.encoder), copy.deepcopy(method.head)
        first, second = (batch_of(method.encoder, sentences, at) for at in (0, ROWS))
        method(first, 0).backward()
        with torch.no_grad():
            for parameter in method.parameters():
                if parameter.grad is not None:
                    parameter.sub_(0.1 * parameter.grad)
        method.observe()
        found = method(second, 5)

        follow(slow, method.encoder, 0.7)
        follow(slow_head, method.head, 0.7)  # type: ignore[arg-type]
        queue = (method.head if faithful else slow_head)(one_by_one(slow, first.columns[0]))  # type: ignore[misc]
        rng = np.random.default_rng(5)
        said_twice = [
            np.concatenate([row[:1], repeat_tokens(row[1:-1], rate=0.32, rng=rng), row[-1:]])
            for row in second.columns[0].rows
        ]
        h, plus = (
            method.head(one_by_one(method.encoder, rows))  # type: ignore[misc]
            for rows in (second.columns[0], Tokens.of(said_twice))
        )
        expected = torch.zeros((), dtype=torch.float64)
        for i in range(ROWS):
            candidates = [*plus, *queue]
            total = sum(torch.exp(cos(h[i], other) / 0.3) for other in candidates)
            expected = expected - torch.log(torch.exp(cos(h[i], plus[i]) / 0.3) / total) / ROWS
        assert abs(found.item() - expected.item()) < 1e-10


def test_it_has_the_published_constants() -> None:
    record = methods.build("esimcse").record()
    assert record["views"][1]["views"] == [{"type": "Dropout", "rate": None}, {"type": "WordRepetition", "rate": 0.32}]
    assert record["negatives"] == {"type": "MemoryBank", "size": 160, "momentum": 0.995, "slow_head": True}
    assert record["objective"]["temperature"] == 0.05
