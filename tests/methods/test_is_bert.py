from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from tests.methods.whole_step import ROWS, batch_of, built, one_by_one


def test_a_step_is_its_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "is-bert")
    batch = batch_of(method.encoder, sentences)
    found = method(batch, 0).item()
    vectors = one_by_one(method.encoder, batch.columns[0])
    objective: Any = method.objective
    near: list[float] = []
    far: list[float] = []
    for i, row in enumerate(batch.columns[0].rows):
        ids = torch.from_numpy(row.astype("int64"))[None]
        states = method.encoder[0].model(input_ids=ids, attention_mask=torch.ones_like(ids)).last_hidden_state[0]
        for t in range(len(row)):
            parts = []
            for window in objective.windows:
                size = window.weight.shape[2]
                total = window.bias.clone()
                for offset in range(size):
                    at = t + offset - size // 2
                    if 0 <= at < len(row):  # beyond a sentence there is nothing
                        total = total + window.weight[:, :, offset] @ states[at]
                parts.append(total.clamp(min=0))
            local = torch.cat(parts)
            for j in range(ROWS):
                score = (local @ vectors[j]).item()
                (near if i == j else far).append(math.log1p(math.exp(-score if i == j else score)))
    expected = sum(near) / len(near) + sum(far) / len(far)
    assert len(far) == (ROWS - 1) * len(near)
    assert abs(found - expected) < 1e-10


def test_features_are_as_wide_as_vectors(tiny: Callable[..., Any]) -> None:
    objective: Any = built(tiny, "is-bert").objective
    assert [window.kernel_size[0] for window in objective.windows] == [1, 3, 5]
    assert sum(window.out_channels for window in objective.windows) == 32
