from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.batch import Ids
from mirrormask.core.errors import MirrormaskError
from mirrormask.data.held_out import Rest
from mirrormask.data.pairs import Examples, Rows


class Numbers(Examples):
    """Example i is the id i, its label i % 3; an example shares texts with those at most `reach` away."""

    def __init__(self, count: int, reach: int = 0) -> None:
        self.count = count
        self.reach = reach

    def __len__(self) -> int:
        return self.count

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        return ([np.array([i, seed]) for i in examples],)

    def labels(self, examples: Rows) -> Rows:
        return examples % 3

    def sharing(self, examples: Rows) -> Rows:
        near = (examples[:, None] + np.arange(-self.reach, self.reach + 1)).ravel()
        return np.unique(near[(near >= 0) & (near < self.count)])


@pytest.mark.parametrize("aside", [0, 1, 7, 30])
def test_what_is_set_aside_is_never_drawn(aside: int) -> None:
    rest = Rest(Numbers(30), aside, seed=3)
    held = rest.aside()
    assert (len(rest), len(held)) == (30 - aside, aside)
    drawn = [int(ids[0]) for ids in rest.columns(np.arange(len(rest)), 5)[0]]
    kept = [int(ids[0]) for ids in held.columns(np.arange(len(held)), 5)[0]]
    assert sorted(drawn + kept) == list(range(30))
    for some, numbers in ((rest, drawn), (held, kept)):
        labels = some.labels(np.arange(len(some)))
        assert labels is not None
        assert labels.tolist() == [i % 3 for i in numbers]
    assert all(ids[1] == 5 for ids in rest.columns(np.arange(len(rest)), 5)[0]), "the seed is handed on"


@pytest.mark.parametrize("reach", [0, 1, 3])
@pytest.mark.parametrize("aside", [0, 1, 12])
def test_nothing_that_shares_a_text_with_them_is_drawn_either(aside: int, reach: int) -> None:
    for seed in range(20):
        rest = Rest(Numbers(90, reach), aside, seed)
        drawn = [int(ids[0]) for ids in rest.columns(np.arange(len(rest)), 0)[0]]
        kept = [int(ids[0]) for ids in rest.aside().columns(np.arange(aside), 0)[0]]
        near = {i + step for i in kept for step in range(-reach, reach + 1)}
        assert sorted(drawn) == [i for i in range(90) if i not in near], "and everything else is, once"


@pytest.mark.parametrize("reach", [1, 2])
def test_few_others_are_left_out_where_neighbors_share_texts(reach: int) -> None:
    for seed in range(5):
        rest = Rest(Numbers(660, reach), 66, seed)
        assert 660 - 66 - 2 * reach * 5 <= len(rest) <= 660 - 66


def test_the_seed_decides_which() -> None:
    def chosen(seed: int) -> list[int]:
        return [int(ids[0]) for ids in Rest(Numbers(100), 10, seed).aside().columns(np.arange(10), 0)[0]]

    assert chosen(1) == chosen(1) != chosen(2)
    assert sorted(chosen(1)) != list(range(10)), "not just the first ones"


def test_fewer_than_none() -> None:
    with pytest.raises(MirrormaskError, match="'aside'"):
        Rest(Numbers(3), -1, 0)
