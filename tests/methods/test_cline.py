from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.methods.whole_step import built, one_by_one

from mirrormask.core.batch import Batch
from mirrormask.models.bulk import tokenize
from mirrormask.objectives.replacement_detection import replaced_words
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import run_recipe

ROWS = [
    ("the old baker paints", "the gray baker paints", "the young baker forgets"),
    ("my neighbor finds bread", "my neighbor finds bread", "my neighbor finds storm"),
    ("a child", "a child", "the child"),
]
CHANGED = ([0, 1, 0, 0], [0, 0, 0, 0], [0, 0]), ([0, 1, 0, 1], [0, 0, 0, 1], [1, 0])


@pytest.mark.parametrize("dot", [True, False])
def test_a_step_is_its_formula(tiny: Callable[..., Any], dot: bool) -> None:
    method = built(tiny, "cline", masked_lm=0.5, detection=0.7, contrast=0.3, dot=dot, temperature=0.9)
    batch = Batch(tuple(tokenize(method.encoder, list(column)) for column in zip(*ROWS, strict=True)))
    lm, detection = (term for _, term in method.objective.parts_of()[:2])
    for seed in range(9):
        torch.manual_seed(seed)
        ask = lm.show(batch)[0]
        if len(ask.answers) > 1:  # some words are hidden
            break
    torch.manual_seed(seed)
    found = method(batch, 0).item()
    model = method.encoder[0].model

    def states(row: Any) -> Any:
        ids = torch.from_numpy(row.astype("int64"))[None]
        return model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]

    hidden, answers = [], iter(ask.answers.tolist())
    for row, places in zip(ask.rows.rows, ask.positions, strict=True):
        for place in places:
            scores = lm.lm.head(states(row)[None, place])[0]  # type: ignore[union-attr, operator]
            hidden.append(-scores.log_softmax(-1)[next(answers)].item())
    seen = []
    for column, changed in zip(batch.columns[1:], CHANGED, strict=True):
        for row, labels in zip(column.rows, changed, strict=True):
            for state, label in zip(states(row)[1:-1], labels, strict=True):
                seen.append(-detection.head(state).log_softmax(-1)[label].item())  # type: ignore[operator]
    told = []
    every = [one_by_one(method.encoder, rows) for rows in (ask.rows, *batch.columns[1:])]
    for h, same, against in zip(*every, strict=True):
        if not dot:
            h, same, against = (each / each.norm() for each in (h, same, against))
        near, far = (math.exp((h @ each).item() / 0.9) for each in (same, against))
        told.append(-math.log(near / (near + far)))
    expected = 0.5 * np.mean(hidden) + 0.7 * np.mean(seen) + 0.3 * np.mean(told)
    assert len(hidden) > 1
    assert len(seen) == 20
    assert abs(found - expected) < 1e-10


def test_what_was_replaced_is_found_word_by_word() -> None:
    starts = np.array([True] * 8 + [False] * 2)  # ids 8 and 9 continue a word
    there, changed = replaced_words(np.array([1, 8, 2, 3]), np.array([1, 8, 4, 9, 9, 3]), starts)
    assert (there.tolist(), changed.tolist()) == ([0, 1, 2, 3, 4, 5], [0, 0, 1, 1, 1, 0])
    there, changed = replaced_words(np.array([1, 2, 3]), np.array([4, 9, 2]), starts)  # the second was cut
    assert (there.tolist(), changed.tolist()) == ([0, 1], [1, 1])
    there, _ = replaced_words(np.array([1]), np.array([1, 2]), starts)
    assert there.tolist() == []


def test_it_trains_with_a_lexicon(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> None:
    lexicon = tmp_path / "words.jsonl"
    lexicon.write_text(json.dumps({"words": ["old", "gray"], "antonyms": ["young"]}) + "\n", encoding="utf-8")
    tables = {
        "model": {"name": str(tiny_folder)},
        "method": {"name": "cline", "lexicon": str(lexicon)},
        "training": {"steps": 2, "batch_size": 8, "precision": "fp32"},
    }
    done = run_recipe(build_recipe(tables), tmp_path / "run", source=sentences[:40])
    assert done.record["parts"]["pairing"]["lexicon"] == str(lexicon)
