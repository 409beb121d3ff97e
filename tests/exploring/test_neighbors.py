from __future__ import annotations

import numpy as np
import pytest

from mirrormask.exploring import neighbors
from mirrormask.exploring.neighbors import groups_of, nearest_others, principal, unit


@pytest.fixture(scope="module")
def units() -> neighbors.Vectors:
    random = np.random.default_rng(0)
    middles = random.normal(size=(8, 16))
    return unit((middles[random.integers(0, 8, 400)] + 0.4 * random.normal(size=(400, 16))).astype(np.float32))


def test_the_nearest_others_are_those_of_a_sorted_row(units: neighbors.Vectors) -> None:
    rows, cosines = nearest_others(units, 5)
    every = units @ units.T
    np.fill_diagonal(every, -2)
    np.testing.assert_allclose(cosines, -np.sort(-every, axis=1)[:, :5], atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(every, rows, axis=1), cosines, atol=1e-5)


def test_cells_find_nearly_all_of_them(units: neighbors.Vectors, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, _ = nearest_others(units, 5)
    monkeypatch.setattr(neighbors, "EXACT", 100)
    monkeypatch.setattr(neighbors, "_PROBED", 20)
    found, cosines = nearest_others(units, 5)
    assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(exact, found, strict=True)]) > 0.9
    assert (found >= 0).all()
    assert (found != np.arange(400)[:, None]).all() or (cosines[found == np.arange(400)[:, None]] == -1).all()


def test_equal_vectors_are_neighbors_and_none_is_its_own(units: neighbors.Vectors) -> None:
    same = np.repeat(units[:2], 40, axis=0)
    rows, cosines = nearest_others(same, 3)
    assert (rows != np.arange(80)[:, None]).all()
    np.testing.assert_allclose(cosines, 1, atol=1e-5)


def test_groups_are_numbered_by_size_and_do_not_move(units: neighbors.Vectors) -> None:
    found = groups_of(units, 8)
    sizes = np.bincount(found)
    assert list(sizes) == sorted(sizes, reverse=True)
    np.testing.assert_array_equal(found, groups_of(units, 8))
    assert set(groups_of(units, 1)) == {0}


def test_principal_components_are_those_of_a_decomposition(units: neighbors.Vectors) -> None:
    found = principal(units, 2)
    centered = units - units.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    np.testing.assert_allclose(np.abs(found), np.abs(centered @ axes.T), atol=1e-4)
