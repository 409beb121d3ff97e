from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from tests.methods.whole_step import ROWS, batch_of, built, one_by_one

from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.views.twin import Twin


def test_a_step_is_the_papers_formula(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """Two encoders that have parted; K of the others, or all of them with the weight of K."""
    for faithful in (False, True):
        method = built(tiny, "ct", negatives=3.0, faithful=faithful)
        twin = method.views[1]
        assert isinstance(twin, Twin)
        with torch.no_grad():
            for parameter in twin.parameters():
                parameter.add_(0.01)
        batch = batch_of(method.encoder, sentences)
        found = method(batch, 0)
        one, other = (one_by_one(each, batch.columns[0]) for each in (method.encoder, twin.encoder))
        expected = 0.0
        for i in range(ROWS):
            others = [(i + k) % ROWS for k in (1, 2, 3)] if faithful else [j for j in range(ROWS) if j != i]
            agree = -torch.log(torch.sigmoid(one[i] @ other[i]))
            differ = [-torch.log(1 - torch.sigmoid(one[i] @ other[j])) for j in others]
            expected += (agree + 3 * sum(differ) / len(others)).item() / (4 * ROWS)
        assert abs(found.item() - expected) < 1e-10


def test_it_has_the_published_constants() -> None:
    built = methods.build("ct")
    assert built.record()["objective"] == {"type": "ContrastiveTension", "negatives": 7.0, "drawn": False}
    assert (built.pooling, built.training["batch_size"], built.training["learning_rate"]) == ("mean", 16, 1e-5)


def test_less_than_one_negative_cannot_be_drawn() -> None:
    with pytest.raises(MirrormaskError, match="must be at least 1 where they are drawn. Got 0.5"):
        methods.build("ct", negatives=0.5, faithful=True)
