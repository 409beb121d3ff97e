from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.batch import Batch, Frame, Tokens
from mirrormask.core.shards import length_shards


@pytest.mark.parametrize("budget", [1, 30, 64, 500, 10_000])
@pytest.mark.parametrize("tolerance", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("most", [None, 1, 7])
def test_every_row_once_within_budget_and_tolerance(budget: int, tolerance: float, most: int | None) -> None:
    lengths = np.random.default_rng(0).integers(1, 60, 200)
    shards = length_shards(lengths, budget, max_rows=most, tolerance=tolerance)
    assert sorted(np.concatenate(shards).tolist()) == list(range(200))
    for shard in shards:
        inside = lengths[shard]
        assert len(shard) == 1 or len(shard) * inside.max() <= budget
        assert inside.max() <= inside.min() * (1 + tolerance)
        assert most is None or len(shard) <= most
    longest = [lengths[shard].max() for shard in shards]
    assert longest == sorted(longest, reverse=True)


def test_edges() -> None:
    assert length_shards(np.array([], dtype=np.int64), 100) == []
    assert [shard.tolist() for shard in length_shards(np.array([0, 0]), 100)] == [[0, 1]]
    assert [shard.tolist() for shard in length_shards(np.array([5, 5, 5]), 1_000)] == [[0, 1, 2]], (
        "ties keep their order"
    )


def test_less_is_padded_than_in_order() -> None:
    lengths = np.random.default_rng(1).integers(3, 40, 500)
    shards = length_shards(lengths, 1_024, tolerance=0.3)
    padded = sum(len(shard) * lengths[shard].max() for shard in shards)
    assert padded < 1.15 * lengths.sum()
    assert len(lengths) * lengths.max() > 1.8 * lengths.sum()


def test_tokens_pad_and_add() -> None:
    tokens = Tokens.of([np.array([1, 2, 3]), np.array([4])]) + Tokens.of([np.array([5, 6])])
    assert len(tokens) == 3
    assert tokens.lengths.tolist() == [3, 1, 2]
    ids, mask = tokens.padded(9, [2, 1], multiple_of=4)
    assert ids.tolist() == [[5, 6, 9, 9], [4, 9, 9, 9]]
    assert mask.tolist() == [[1, 1, 0, 0], [1, 0, 0, 0]]
    assert len(Batch((tokens, tokens))) == 3


def test_a_frame_cuts_the_text_and_never_itself() -> None:
    frame = Frame(np.array([101]), np.array([102, 103]))
    assert frame.around(np.array([1, 2, 3]), 5).tolist() == [101, 1, 2, 102, 103]
    assert frame.around(np.array([1]), 5).tolist() == [101, 1, 102, 103]
    assert frame.around(np.array([1]), 2).tolist() == [101, 102, 103]


def test_few_rows_may_be_padded_a_little_to_save_a_forward() -> None:
    lengths = np.array([20, 16, 12, 8, 4])
    assert [shard.tolist() for shard in length_shards(lengths, 1000, tolerance=0.1)] == [[0], [1], [2], [3], [4]]
    assert [shard.tolist() for shard in length_shards(lengths, 1000, tolerance=0.1, spare=12)] == [[0, 1, 2], [3, 4]]
    assert [shard.tolist() for shard in length_shards(lengths, 40, tolerance=0.1, spare=99)] == [[0, 1], [2, 3, 4]]
