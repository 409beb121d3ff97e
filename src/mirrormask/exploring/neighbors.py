"""Nearest neighbors and groups of vectors, with faiss: exact while there are few, by cells where there are many."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import derive
from mirrormask.core.similarity import unit_rows

Vectors = NDArray[np.float32]

EXACT = 20_000
"""Vectors up to which every one is compared with every other."""

_PROBED = 24  # cells searched around a vector
_ROWS = 4096  # vectors searched at once


def unit(vectors: Vectors) -> Vectors:
    """Return the vectors scaled to length 1, block by block."""
    out = np.empty(vectors.shape, dtype=np.float32)
    for start in range(0, len(vectors), _ROWS):
        out[start : start + _ROWS] = unit_rows(vectors[start : start + _ROWS])
    return out


def nearest_others(units: Vectors, count: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return for each vector the rows of the others most like it and their cosines, best first (n, k).

    Args:
        units: vectors of length 1 (n, d), at least two.
        count: how many; fewer where there are fewer.
    """
    import faiss

    count = min(count, len(units) - 1)
    searched: Any = faiss.IndexFlatIP(units.shape[1])
    if len(units) > EXACT:
        cells = int(4 * math.sqrt(len(units)))
        searched = faiss.IndexIVFFlat(searched, units.shape[1], cells, faiss.METRIC_INNER_PRODUCT)
        searched.cp.seed = derive(0, "cells") % 2**31
        searched.cp.niter = 8
        searched.train(units[:: max(1, len(units) // (40 * cells))])
        searched.nprobe = _PROBED
    searched.add(units)
    rows, cosines = np.empty((len(units), count), np.int64), np.empty((len(units), count), np.float32)
    for start in range(0, len(units), _ROWS):
        part = slice(start, start + _ROWS)
        found, near = searched.search(units[part], count + 1)
        rows[part], cosines[part] = _without_self(near, found, start, count)
    return rows, cosines


def _without_self(
    near: NDArray[np.int64], cosines: NDArray[np.float32], start: int, count: int
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the lists without each vector itself; of many that are equal it may be missing, then the last goes.

    Cells may hold fewer vectors than asked for; the gap is filled with the nearest one.
    """
    own = near == np.arange(start, start + len(near))[:, None]
    own[:, -1] |= ~own.any(axis=1)
    near, cosines = near[~own].reshape(-1, count), cosines[~own].reshape(-1, count)
    gap = near < 0
    fallback = np.where(near[:, :1] >= 0, near[:, :1], (np.arange(start, start + len(near))[:, None] + 1) % (start + 2))
    return np.where(gap, fallback, near), np.where(gap, np.float32(-1), cosines)


def groups_of(units: Vectors, count: int, *, seed: int = 42) -> NDArray[np.int64]:
    """Return the group of each vector (n,), found by k-means on the sphere; the largest group is 0."""
    import faiss

    if count < 2:
        return np.zeros(len(units), dtype=np.int64)
    options: dict[str, Any] = {"niter": 20, "nredo": 1, "spherical": True, "min_points_per_centroid": 1}
    means = faiss.Kmeans(units.shape[1], count, seed=derive(seed, "groups") % 2**31, **options)
    means.train(units)
    found = means.index.search(units, 1)[1][:, 0]
    order = np.argsort(-np.bincount(found, minlength=count), kind="stable")
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    numbered: NDArray[np.int64] = place[found]
    return numbered


def principal(units: Vectors, dimensions: int) -> Vectors:
    """Return the vectors in their first principal components (n, dimensions), signs fixed by the largest part."""
    middle = units.mean(axis=0, dtype=np.float64)
    covariance = units.T.astype(np.float64) @ units / len(units) - np.outer(middle, middle)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :dimensions]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return ((units - middle) @ axes).astype(np.float32)
