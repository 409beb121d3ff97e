from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.batch import Ids
from mirrormask.core.errors import MirrormaskError
from mirrormask.data.held_out import Rest
from mirrormask.data.pairs import Examples, Rows


class Numbers(Examples):
    """Example i is the id i, its text the row 1,000 + i."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        return ([np.array([i, seed]) for i in examples],)

    def text_ids(self, examples: Rows) -> Rows:
        return examples + 1_000


@pytest.mark.parametrize("aside", [0, 1, 7, 30])
def test_what_is_set_aside_is_never_drawn(aside: int) -> None:
    rest = Rest(Numbers(30), aside, seed=3)
    held = rest.aside()
    assert (len(rest), len(held)) == (30 - aside, aside)
    drawn = [int(ids[0]) for ids in rest.columns(np.arange(len(rest)), 5)[0]]
    kept = [int(ids[0]) for ids in held.columns(np.arange(len(held)), 5)[0]]
    assert sorted(drawn + kept) == list(range(30))
    assert rest.text_ids(np.arange(len(rest))).tolist() == [1_000 + i for i in drawn]
    assert held.text_ids(np.arange(len(held))).tolist() == [1_000 + i for i in kept]
    assert all(ids[1] == 5 for ids in rest.columns(np.arange(len(rest)), 5)[0]), "the seed is handed on"


def test_the_seed_decides_which() -> None:
    def chosen(seed: int) -> list[int]:
        return Rest(Numbers(100), 10, seed).aside().text_ids(np.arange(10)).tolist()

    assert chosen(1) == chosen(1) != chosen(2)
    assert sorted(chosen(1)) != list(range(1_000, 1_010)), "not just the first ones"


def test_fewer_than_none() -> None:
    with pytest.raises(MirrormaskError, match="'aside'"):
        Rest(Numbers(3), -1, 0)
