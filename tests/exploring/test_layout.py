from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestNeighbors

from mirrormask.exploring import layout
from mirrormask.exploring.layout import neighbor_layout
from mirrormask.exploring.neighbors import nearest_others, principal, unit

Vectors = NDArray[np.float32]


@pytest.fixture(scope="module")
def blobs() -> Vectors:
    points, _ = make_blobs(600, n_features=20, centers=12, cluster_std=2.0, random_state=0)
    return unit(points.astype(np.float32))


def forces(places: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
    """Return the repulsion of all pairs by the formula, and Z."""
    apart = places[:, None] - places[None]
    near = 1 / (1 + (apart**2).sum(axis=2))
    np.fill_diagonal(near, 0)
    return (near[:, :, None] ** 2 * apart).sum(axis=1) / near.sum(), float(near.sum())


@pytest.mark.parametrize("spread", [0.01, 3.0, 12.0])
def test_repulsion_is_that_of_all_pairs(spread: float) -> None:
    places = (spread * np.random.default_rng(1).normal(size=(300, 2))).astype(np.float32)
    expected, _ = forces(places.astype(np.float64))
    found = layout._repulsion(places)
    assert np.abs(found - expected).max() < 0.06 * np.abs(expected).max()


def test_repulsion_of_few_points_is_exact() -> None:
    places = (12 * np.random.default_rng(1).normal(size=(60, 2))).astype(np.float32)
    expected, _ = forces(places.astype(np.float64))
    np.testing.assert_allclose(layout._repulsion(places), expected, atol=1e-5 * np.abs(expected).max())
    assert layout._repulsion(places).dtype == np.float32


def test_attraction_is_that_of_all_links() -> None:
    random = np.random.default_rng(2)
    places = random.normal(size=(40, 2)).astype(np.float32)
    neighbors = np.array([random.choice(np.delete(np.arange(40), row), 5, replace=False) for row in range(40)])
    linked = {(a, b) for a in range(40) for b in neighbors[a].tolist()}
    expected = np.zeros((40, 2))
    for a, b in {*linked, *((b, a) for a, b in linked)}:
        apart = places[a] - places[b]
        expected[a] += apart / (1 + apart @ apart)
    np.testing.assert_allclose(layout._attraction(places, *layout._symmetric(neighbors)), expected, atol=1e-5)


def kept(places: Vectors, neighbors: NDArray[np.int64]) -> float:
    """Return the share of each point's neighbors that are still its neighbors in the plane."""
    near = NearestNeighbors(n_neighbors=11).fit(places).kneighbors(return_distance=False)[:, :10]
    return float(np.mean([len(set(a) & set(b)) / 10 for a, b in zip(near, neighbors[:, :10], strict=True)]))


def test_neighbors_stay_neighbors_much_more_than_by_principal_components(blobs: Vectors) -> None:
    neighbors, _ = nearest_others(blobs, 15)
    start = principal(blobs, 2)
    ticks: list[int] = []
    places = neighbor_layout(start, neighbors, steps=200, progress=ticks.append)
    assert np.isfinite(places).all()
    assert sum(ticks) == 200
    assert kept(places, neighbors) > 1.5 * kept(start, neighbors)
    again = neighbor_layout(start, neighbors, steps=200)
    np.testing.assert_array_equal(places, again)


def test_points_that_are_all_the_same_do_no_harm() -> None:
    units = unit(np.ones((30, 4), dtype=np.float32))
    neighbors, _ = nearest_others(units, 15)
    assert np.isfinite(neighbor_layout(principal(units, 2), neighbors, steps=60)).all()
