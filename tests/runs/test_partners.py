from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mirrormask.core.batch import Batch
from mirrormask.models.bulk import tokenize
from mirrormask.runs.partners import partners_found


class Given:
    """Batches from a list."""

    def __init__(self, *batches: Batch) -> None:
        self.batches = batches

    def __len__(self) -> int:
        return len(self.batches)

    def at(self, number: int) -> Batch:
        return self.batches[number]


def test_the_share_whose_partner_is_nearest(tiny: Callable[..., Any], sentences: list[str]) -> None:
    """A text is nearest to itself; in the second batch the partners of two texts are exchanged."""
    encoder = tiny(pooling="mean").train()
    same = tokenize(encoder, sentences[:4])
    exchanged = tokenize(encoder, [sentences[1], sentences[0], *sentences[2:4]])
    assert partners_found(encoder, Given(Batch((same, same)))) == 1.0  # type: ignore[arg-type]
    both: Any = Given(Batch((same, same)), Batch((same, exchanged)))
    assert partners_found(encoder, both) == pytest.approx(6 / 8)
    assert encoder.training, "left as it was"


def test_nothing_to_find(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny(pooling="mean")
    assert partners_found(encoder, None) is None
    alone: Any = Given(Batch((tokenize(encoder, sentences[:4]),)))
    assert partners_found(encoder, alone) is None
