from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mirrormask.data.text import cooccurrence
from mirrormask.data.text.cooccurrence import (
    cooccurrence_vectors,
    count_pairs,
    leading_directions,
    positive_information,
)

ROWS = [np.array(row) for row in ([0, 1, 2, 1], [2, 2, 3], [], [5], [3, 0, 1, 4, 0, 2])]


def every(size: int) -> np.ndarray:
    return np.arange(size)


@pytest.mark.parametrize("window", [1, 2, 5])
def test_pairs_are_counted_as_a_loop_counts_them(window: int) -> None:
    expected = np.zeros((6, 6))
    for row in ROWS:
        for i, first in enumerate(row):
            for j, second in enumerate(row):
                if i != j and abs(i - j) <= window:
                    expected[first, second] += 1
    np.testing.assert_array_equal(count_pairs(ROWS, every(6), window), expected)


def test_many_small_blocks_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = count_pairs(ROWS, every(6), 3)
    monkeypatch.setattr(cooccurrence, "_BLOCK", 3)
    np.testing.assert_array_equal(count_pairs(ROWS, every(6), 3), whole)


def test_a_token_without_a_place_is_no_neighbour() -> None:
    place = np.array([0, -1, 1, 2, -1, 3])
    whole = count_pairs(ROWS, every(6), 2)
    np.testing.assert_array_equal(count_pairs(ROWS, place, 2), whole[np.ix_([0, 2, 3, 5], [0, 2, 3, 5])])


def test_information_is_what_the_formula_says() -> None:
    counts = count_pairs(ROWS, every(6), 2)
    expected = np.zeros((6, 6))
    words = counts.sum(axis=1)
    smoothed = words**0.75
    for w in range(6):
        for c in range(6):
            if counts[w, c]:
                expected[w, c] = max(0, math.log(counts[w, c] * smoothed.sum() / (words[w] * smoothed[c])))
    np.testing.assert_allclose(positive_information(counts), expected, atol=1e-6)
    assert expected.max() > 0
    assert (expected == 0).any()


def test_directions_are_those_of_the_singular_value_decomposition() -> None:
    drawn = torch.Generator().manual_seed(3)
    left, right = (torch.linalg.qr(torch.randn(200, 60, generator=drawn))[0] for _ in range(2))
    matrix = left @ torch.diag(0.8 ** torch.arange(60.0)) @ right.T
    found = leading_directions(matrix, 10)
    torch.testing.assert_close((found * left[:, :10]).sum(dim=0).abs(), torch.ones(10), atol=1e-4, rtol=0)
    torch.testing.assert_close(found, leading_directions(matrix, 10), atol=0, rtol=0)


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
