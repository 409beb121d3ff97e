from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one
from torch import Tensor

from mirrormask.methods import methods
from mirrormask.objectives.self_guided import SelfGuided


def layers_of(encoder: Any, row: Any) -> list[Tensor]:
    """Return the mean state of every layer of one row."""
    ids = torch.from_numpy(row.astype("int64"))[None]
    states = encoder[0].model(input_ids=ids, output_hidden_states=True).hidden_states
    return [state[0].mean(dim=0) for state in states]


def test_a_step_after_an_update_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "sg-opt", temperature=0.1, drift=0.2, width=8)
    start = copy.deepcopy(method.encoder)
    with torch.no_grad():
        for name, parameter in method.encoder.named_parameters():
            if parameter.requires_grad:
                parameter.add_(0.01)
            assert parameter.requires_grad is (".embeddings." not in name), "the embeddings stay"
    batch = batch_of(method.encoder, sentences)
    found = method(batch, 0)
    objective = method.objective
    assert isinstance(objective, SelfGuided)
    assert objective.projection is not None
    c = [objective.projection(vector) for vector in one_by_one(method.encoder, batch.columns[0])]
    h = [[objective.projection(each) for each in layers_of(start, row)] for row in batch.columns[0].rows]
    losses = []
    for i in range(ROWS):
        others = sum(torch.exp(cos(c[i], each) / 0.1) for m in range(ROWS) if m != i for each in h[m])
        for mine in h[i]:
            own = torch.exp(cos(c[i], mine) / 0.1)
            losses.append(-torch.log(own / (own + others)))
    pairs = zip(method.encoder.parameters(), start.parameters(), strict=True)
    drift = sum((now - then).square().sum().item() for now, then in pairs)
    expected = sum(loss.item() for loss in losses) / len(losses) + 0.2 * drift
    assert len(losses) == 4 * ROWS, "the embeddings and three layers"
    assert abs(found.item() - expected) < 1e-10


def test_it_has_the_published_constants() -> None:
    built = methods.build("sg-opt")
    record = built.record()["objective"]
    assert (record["temperature"], record["drift"], record["width"], record["pool"]) == (0.01, 0.1, 4096, "mean")
    assert built.training["betas"] == (0.9, 0.9)
    assert (built.pooling, built.training["batch_size"], built.training["learning_rate"]) == ("cls", 16, 5e-5)
