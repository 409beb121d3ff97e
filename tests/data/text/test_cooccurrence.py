from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
import torch

from mirrormask.data.text import cooccurrence
from mirrormask.data.text.cooccurrence import (
    Information,
    PairCounts,
    cooccurrence_vectors,
    count_pairs,
    leading_directions,
)

ROWS = [np.array(row) for row in ([0, 1, 2, 1], [2, 2, 3], [], [5], [3, 0, 1, 4, 0, 2])]


def every(size: int) -> np.ndarray:
    return np.arange(size)


def whole(counts: PairCounts) -> np.ndarray:
    """Return the table of counts in one piece."""
    found = np.zeros((counts.size, counts.size))
    for rows, columns, tile in counts.tiles():
        found[rows, columns], found[columns, rows] = tile, tile.T
    return found


def information(counts: np.ndarray) -> np.ndarray:
    """Return the positive information of a table, entry by entry."""
    words = counts.sum(axis=1)
    smoothed = words**0.75
    found = np.zeros(counts.shape)
    for w, c in zip(*np.nonzero(counts), strict=True):
        found[w, c] = max(0, math.log(counts[w, c] * smoothed.sum() / (words[w] * smoothed[c])))
    return found


def many_rows(words: int = 60, texts: int = 800) -> list[np.ndarray]:
    """Return texts of frequent and rare words, each text about one of six things."""
    chance = np.random.default_rng(5)
    common = 1 / np.arange(1, words + 1)
    near = [np.where(np.arange(words) % 6 == kind, 12.0, 1.0) * common for kind in range(6)]
    kinds = chance.integers(0, 6, texts)
    return [chance.choice(words, chance.integers(0, 14), p=near[kind] / near[kind].sum()) for kind in kinds]


@pytest.mark.parametrize("window", [1, 2, 5])
def test_pairs_are_counted_as_a_loop_counts_them(window: int) -> None:
    expected = np.zeros((6, 6))
    for row in ROWS:
        for i, first in enumerate(row):
            for j, second in enumerate(row):
                if i != j and abs(i - j) <= window:
                    expected[first, second] += 1
    np.testing.assert_array_equal(whole(count_pairs(ROWS, every(6), window)), expected)


@pytest.mark.parametrize("tile", [1, 4, 7, 60, 64])
def test_small_blocks_and_tiles_count_the_same(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = whole(count_pairs(many_rows(), every(60), 3))
    monkeypatch.setattr(cooccurrence, "_BLOCK", 30)
    monkeypatch.setattr(cooccurrence, "TILE", tile)
    counts = count_pairs(many_rows(), every(60), 3)
    np.testing.assert_array_equal(whole(counts), at_once)
    np.testing.assert_array_equal(counts.totals(), at_once.sum(axis=1))
    assert at_once.max() > 255, "some counts take more than a byte"


def test_counts_take_no_more_memory_than_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte for each pair of one half of the table; wider numbers only where there are large counts."""
    monkeypatch.setattr(cooccurrence, "TILE", 8)
    counts = PairCounts(64)
    first, second = (each.ravel() for each in np.meshgrid(np.arange(64), np.arange(64)))
    counts.add(first, second)
    tiles = 8 * 9 // 2
    assert counts.nbytes == tiles * 64
    for _ in range(3):
        counts.add(np.zeros(100, dtype=np.int64), np.full(100, 63))
    assert counts.nbytes == (tiles + 1) * 64
    assert whole(counts)[0, 63] == whole(counts)[63, 0] == 2 + 300
    counts.add(np.zeros(70_000, dtype=np.int64), np.ones(70_000, dtype=np.int64))
    assert counts.nbytes == (tiles + 1 + 3) * 64
    assert whole(counts)[1, 0] == 2 + 70_000


def test_the_whole_computation_stays_below_a_share_of_the_table() -> None:
    """16,384 tokens may take 400 MB, which is 0.37 of their table in float32; here a table of a seventh of that."""
    chance = np.random.default_rng(2)
    size = 6 * cooccurrence.TILE
    texts = [np.arange(start, start + 64) for start in range(0, size, 64)]
    texts += [(size * chance.random(64) ** 3).astype(np.int64) for _ in range(1000)]
    tracemalloc.start()
    try:
        cooccurrence_vectors(texts, size, dimensions=8, window=5)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 0.37 * 4 * size * size


def test_a_token_without_a_place_is_no_neighbour() -> None:
    place = np.array([0, -1, 1, 2, -1, 3])
    all_of_them = whole(count_pairs(ROWS, every(6), 2))
    np.testing.assert_array_equal(whole(count_pairs(ROWS, place, 2)), all_of_them[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])])


@pytest.mark.parametrize("tile", [3, 25, 1024])
def test_information_is_what_the_formula_says(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "TILE", tile)
    place = every(61)  # the last one never occurs
    counts = count_pairs(many_rows(), place, 2)
    expected = information(whole(counts))
    matrix, one = Information(counts), torch.eye(61)
    np.testing.assert_allclose(matrix.times(one), expected, atol=2e-6)
    np.testing.assert_allclose(matrix.transposed_times(one), expected.T, atol=2e-6)
    assert expected.max() > 0
    assert ((expected == 0) & (whole(counts) > 0)).any()
    assert not whole(counts)[60].any()


def test_vectors_are_those_of_the_dense_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cosines agree with those of the left singular vectors of the whole table, made and factorized at once."""
    monkeypatch.setattr(cooccurrence, "TILE", 16)
    rows = [ids[ids != 7] for ids in many_rows()]
    vectors, _ = cooccurrence_vectors(rows, 60, dimensions=20, window=4)
    dense = np.linalg.svd(information(whole(count_pairs(rows, every(60), 4))))[0][:, :20]
    dense[7] = 0
    expected = dense / np.maximum(np.linalg.norm(dense, axis=1, keepdims=True), 1e-6)
    upper = np.triu_indices(60, 1)
    found, wanted = ((each @ each.T)[upper] for each in (vectors, expected))
    assert np.corrcoef(found, wanted)[0, 1] > 0.999
    assert np.abs(wanted).max() > 0.5


def test_directions_are_those_of_the_singular_value_decomposition() -> None:
    matrix = Information(count_pairs(many_rows(), every(60), 4))
    expected = torch.linalg.svd(matrix.times(torch.eye(60)).double())[0][:, :5]
    start = torch.randn(60, 30, generator=torch.Generator().manual_seed(3))
    found = leading_directions(matrix, 5, start)
    torch.testing.assert_close((found * expected).sum(dim=0).abs(), torch.ones(5).double(), atol=1e-3, rtol=0)
    torch.testing.assert_close(found, leading_directions(matrix, 5, start), atol=0, rtol=0)


def test_words_of_one_kind_get_like_vectors() -> None:
    """Cats and dogs stand near the same words, stones near others; none of them stands near another of them."""
    chance = np.random.default_rng(0)
    near = {0: range(10, 20), 1: range(10, 20), 2: range(20, 30)}
    rows = [np.array([kind, *chance.choice(list(near[kind]), 4)]) for kind in chance.integers(0, 3, 2000)]
    vectors, frequency = cooccurrence_vectors(rows, 40, dimensions=8, window=5)
    cosine = vectors @ vectors.T
    assert cosine[0, 1] > 0.9
    assert abs(cosine[0, 2]) < 0.2
    assert frequency.sum() == 5 * 2000
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths[frequency > 0], 1, atol=1e-5)
    assert not vectors[frequency == 0].any()


def test_only_the_most_frequent_tokens_have_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cooccurrence, "MOST", 2)
    vectors, frequency = cooccurrence_vectors(ROWS, 6, dimensions=2, window=2)
    assert frequency.tolist() == [3, 3, 4, 2, 1, 1]
    assert vectors.any(axis=1).tolist() == [True, False, True, False, False, False]


def test_no_text_gives_no_vectors() -> None:
    vectors, frequency = cooccurrence_vectors([], 6, dimensions=2, window=2)
    assert not vectors.any()
    assert not frequency.any()
