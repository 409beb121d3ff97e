from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from tests.methods.whole_step import ROWS, batch_of, built, cos, one_by_one

from mirrormask.methods import methods


def seeded(draw: Callable[..., Any], step: Any, criterion: Any) -> Any:
    torch.manual_seed(4)
    return draw(step, criterion)


def test_a_step_is_its_formula(tiny: Callable[..., Any], sentences: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise with the batch's mean and deviation, five draws for each that is kept."""
    method = built(tiny, "simcse-hardest-noise", temperature=0.3, multiple=0.5, pool=5.0)
    source: Any = method.negatives
    monkeypatch.setattr(source, "draw", partial(seeded, source.draw))
    batch = batch_of(method.encoder, sentences)
    found = method(batch, 0)
    h = method.head(one_by_one(method.encoder, batch.columns[0])).detach()  # type: ignore[misc]
    torch.manual_seed(4)
    drawn = h.mean(dim=0) + h.std(dim=0) * torch.randn(15, 32, dtype=torch.float64)
    hard = [sum(math.exp(cos(x, a).item() / 0.3) for a in h) for x in drawn]
    kept = [drawn[place] for place in sorted(range(15), key=lambda place: -hard[place])[:3]]
    expected = 0.0
    for i in range(ROWS):
        total = sum(torch.exp(cos(h[i], other) / 0.3) for other in [*h, *kept])
        expected -= torch.log(torch.exp(cos(h[i], h[i]) / 0.3) / total).item() / ROWS
    assert abs(found.item() - expected) < 1e-10


def test_a_pool_of_one_is_the_noise_of_the_thesis() -> None:
    record = methods.build("simcse-hardest-noise").record()["negatives"]
    assert (record["mean"], record["deviation"], record["multiple"], record["pool"]) == ("batch", "batch", 1.0, 10.0)
