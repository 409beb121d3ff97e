from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.core.batch import Batch
from mirrormask.methods import methods


def test_a_step_is_its_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "declutr", masked_lm=0.5)
    batch = Batch(tuple(batch_of(method.encoder, sentences, first).columns[0] for first in (0, 10, 20)))
    torch.manual_seed(4)
    found = method(batch, 0)
    lm: Any = method.objective.parts_of()[1][1]
    torch.manual_seed(4)
    ask = lm.show(batch)[0]
    anchors = one_by_one(method.encoder, ask.rows)  # words are hidden where they are compared
    positives = torch.stack([one_by_one(method.encoder, column) for column in batch.columns[1:]]).mean(dim=0)
    every = [*anchors, *positives]
    contrast = 0.0
    for i, one in enumerate(every):
        scores = {j: math.exp(cos(one, other).item() / 0.05) for j, other in enumerate(every) if j != i}
        contrast -= math.log(scores[(i + ROWS) % (2 * ROWS)] / sum(scores.values())) / (2 * ROWS)
    losses, answers = [], iter(ask.answers.tolist())
    for row, places in zip(ask.rows.rows, ask.positions, strict=True):
        ids = torch.from_numpy(row.astype("int64"))[None]
        states = method.encoder[0].model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
        for place in places:
            losses.append(-lm.lm.head(states[None, place])[0].log_softmax(-1)[next(answers)].item())
    expected = contrast + 0.5 * sum(losses) / len(losses)
    assert len(losses) > 1
    assert abs(found.item() - expected) < 1e-10


def test_without_hidden_words_it_is_contrast_alone() -> None:
    assert methods.build("declutr", masked_lm=0).objective.parts_of()[0][1].needs_encoder is False
    assert len(methods.build("declutr", masked_lm=0).objective.parts_of()) == 1
