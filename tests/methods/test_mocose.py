from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.methods import methods
from mirrormask.models.copies import follow
from mirrormask.models.training_heads import Predicted


def test_a_second_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "mocose", temperature=0.3, momentum=0.6, rising=4)
    head = method.head
    assert isinstance(head, Predicted)
    slow, projection = copy.deepcopy(method.encoder), copy.deepcopy(head.projection)
    first, second = (batch_of(method.encoder, sentences, at) for at in (0, ROWS))
    queue = projection(one_by_one(slow, first.columns[0]))  # the answers of the step are kept as they were
    method(first, 0).backward()
    with torch.no_grad():
        for parameter in method.parameters():
            if parameter.grad is not None:
                parameter.sub_(0.1 * parameter.grad)
    method.observe()
    found = method(second, 5)

    momentum = 1 - 0.4 * (math.cos(math.pi / 4) + 1) / 2
    follow(slow, method.encoder, momentum)
    follow(projection, head.projection, momentum)
    q = head.predictor(head.projection(one_by_one(method.encoder, second.columns[0])))
    k = projection(one_by_one(slow, second.columns[0]))
    expected = 0.0
    for i in range(ROWS):
        total = sum(torch.exp(cos(q[i], other) / 0.3) for other in [*k, *queue])
        expected -= torch.log(torch.exp(cos(q[i], k[i]) / 0.3) / total).item() / ROWS
    assert abs(found.item() - expected) < 1e-10


def test_the_slow_side_has_no_predictor_and_no_gradient(tiny: Callable[..., Any], sentences: list[str]) -> None:
    method = built(tiny, "mocose", exact=False)
    names = [name for name, _ in method.views.named_parameters()]
    assert any(".head." in name for name in names)
    assert not any("predictor" in name for name in names)
    method(batch_of(method.encoder, sentences), 0).backward()
    assert all(p.grad is None for p in method.views.parameters())
    assert method.head is not None
    assert all(p.grad is not None for p in method.head.parameters())


def test_it_has_the_published_constants() -> None:
    record = methods.build("mocose").record()
    assert record["views"][1] == {"type": "Momentum", "momentum": 0.75, "dropout": True, "rising": 15_000}
    assert (record["negatives"]["size"], record["negatives"]["momentum"], record["head"]) == (512, 0.0, "predictor")
    attacked = methods.build("mocose", epsilon=5e-9).record()
    assert attacked["views"][0]["views"] == [{"type": "Dropout", "rate": None}, {"type": "FGSM", "epsilon": 5e-9}]
