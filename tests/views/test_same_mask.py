from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from mirrormask.core.batch import Batch
from mirrormask.methods.composition import composition
from mirrormask.models.bulk import tokenize
from mirrormask.training.method import Method
from mirrormask.views import Vocabulary


@pytest.mark.parametrize("rate", [None, 0.0, 0.3])
def test_the_positive_is_the_anchor_and_nothing_refuses_it(
    rate: float | None, tiny: Callable[..., Any], sentences: list[str]
) -> None:
    encoder = tiny(pooling="mean").train()
    first = {"name": "dropout"} if rate is None else {"name": "dropout", "rate": rate}
    method = Method(encoder, composition(views=[first, "same-mask"]), Vocabulary.of(encoder)).train()
    batch = Batch((tokenize(encoder, sentences[:6]),))
    method.check(batch)
    seen: list[Any] = []
    method.objective.register_forward_pre_hook(lambda _module, given: seen.append(given[0]))
    torch.manual_seed(0)
    method(batch).backward()
    assert torch.equal(seen[0].anchor, seen[0].positive)
    reached = [p for p in encoder.parameters() if p.grad is not None and p.grad.abs().sum() > 0]
    assert len(reached) > 20, "negatives still teach"
    torch.manual_seed(1)
    method(batch)
    assert torch.equal(seen[0].anchor, seen[1].anchor) is (rate == 0.0), "dropout is on, and drawn once"
