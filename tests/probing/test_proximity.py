"""Distances to a term, and weights."""

from __future__ import annotations

import numpy as np
import pytest

from mirrormask.probing.decoders import both_chains, left_chain, random_tree, right_chain
from mirrormask.probing.proximity import proximity, text_distances, tree_distances


def test_tree_distances_against_all_paths() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 5, 11):
        for _ in range(10):
            heads = random_tree(n, rng)
            far = np.full((n, n), n)
            np.fill_diagonal(far, 0)
            for word, head in enumerate(heads.tolist()):
                if head >= 0:
                    far[word, head] = far[head, word] = 1
            for middle in range(n):  # Floyd and Warshall
                far = np.minimum(far, far[:, middle, None] + far[None, middle, :])
            start = int(rng.integers(n))
            stop = int(rng.integers(start, n)) + 1
            assert tree_distances(heads, start, stop).tolist() == far[:, start:stop].min(axis=1).tolist()


def test_chains_are_distances_in_the_text() -> None:
    for tree in (right_chain(9), left_chain(9), both_chains(9, 4)):
        assert tree_distances(tree, 3, 5).tolist() == text_distances(9, 3, 5).tolist() == [3, 2, 1, 0, 0, 1, 2, 3, 4]


def test_what_no_arc_leads_to_is_far() -> None:
    assert tree_distances(np.array([-1, 0, -1]), 0, 1).tolist() == [0, 1, 3]


def test_weights() -> None:
    weights = proximity(text_distances(8, 2, 4))
    assert weights.tolist() == pytest.approx([1 - 2 / 8, 1 - 1 / 8, 0, 0, 7 / 8, 6 / 8, 5 / 8, 4 / 8])
    assert (proximity(np.array([0, 2, 2])) >= 0).all() and len(proximity(np.zeros(0, dtype=np.int64))) == 0
