"""A picture of many vectors: t-SNE in two dimensions, its repulsion by Fourier transforms on a grid.

    attraction of i and j: p_ij / (1 + d_ij²), p the same for every two neighbors
    repulsion of i and j:  1 / (1 + d_ij²)² / Z,  Z the sum of 1 / (1 + d²) over all pairs

Sums over all pairs are convolutions: points are spread onto a grid, the grid is convolved with the kernel, and read
where the points are. So a step takes about as long as looking at every neighbor once, whatever the number of points.

Paper: van der Maaten & Hinton 2008, "Visualizing Data using t-SNE"; Linderman et al. 2019, "Fast interpolation-based
    t-SNE for improved visualization of single-cell RNA-seq data" (the grid); Böhm et al. 2022, "Attraction-Repulsion
    Spectrum in Neighbor Embeddings" (uniform p over 15 neighbors)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float32]

NEIGHBORS = 15
STEPS, EARLY_STEPS, EARLY_EXAGGERATION = 500, 150, 12.0
"""Steps in all, and those of the first part, in which attraction is so many times stronger."""

_SPACING, _FEWEST_NODES, _MOST_NODES = 0.4, 40, 500
_FEW = 250  # points of which every pair is looked at sooner than a grid
_MOMENTUM = (0.5, 0.8)  # in the first part, and then


def neighbor_layout(
    start: Points, neighbors: NDArray[np.int64], *, steps: int = STEPS, progress: Callable[[int], None] | None = None
) -> Points:
    """Return places in the plane (n, 2) at which neighbors lie together.

    Args:
        start: places to begin at (n, 2), such as the first two principal components.
        neighbors: for each point the rows of those most like it, without itself (n, k).
        steps: of gradient descent.
        progress: called after every step.
    """
    count = len(start)
    heads, tails, edges = _symmetric(neighbors)
    weight = np.float32(1.0 / max(1, len(heads)))
    scale = start.std(axis=0).max()
    places = (1e-4 * (start - start.mean(axis=0)) / (scale if scale > 0 else 1.0)).astype(np.float32)
    speed, gains = np.zeros_like(places), np.ones_like(places)
    early = min(EARLY_STEPS, steps // 3)
    for step in range(steps):
        exaggeration = EARLY_EXAGGERATION if step < early else 1.0
        rate = np.float32(max(count / EARLY_EXAGGERATION, 50.0))
        pull = _attraction(places, heads, tails, edges) * np.float32(weight * exaggeration)
        gradient = 4 * (pull - _repulsion(places))
        agree = gradient * speed > 0
        gains = np.maximum(np.where(agree, gains * np.float32(0.8), gains + np.float32(0.2)), np.float32(0.01))
        speed = np.float32(_MOMENTUM[step >= early]) * speed - rate * gains * gradient
        speed *= np.minimum(1, 5 / np.maximum(np.hypot(*speed.T), 1e-12))[:, None]  # no point leaps out of the picture
        places = places + speed
        places -= places.mean(axis=0)
        if progress is not None:
            progress(1)
    return places


def _symmetric(neighbors: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return every link in both directions once, by its first point, and where the links of each point begin."""
    count, width = neighbors.shape
    one, two = np.repeat(np.arange(count), width), neighbors.ravel()
    keys = np.unique(np.concatenate([one * count + two, two * count + one]))
    heads, tails = keys // count, keys % count
    return heads, tails, np.searchsorted(heads, np.arange(count))


def _attraction(places: Points, heads: NDArray[np.int64], tails: NDArray[np.int64], edges: NDArray[np.int64]) -> Points:
    """Return the sum over each point's links of (y_i − y_j) / (1 + d²) (n, 2); every point has a link."""
    apart = places[heads] - places[tails]
    apart /= 1 + np.einsum("ed,ed->e", apart, apart)[:, None]
    summed: Points = np.add.reduceat(apart, edges, axis=0)
    return summed


def _repulsion(places: Points) -> Points:
    """Return the sum over all other points of (y_i − y_j) / (1 + d²)², divided by Z (n, 2)."""
    if len(places) <= _FEW:
        apart = places[:, None] - places[None]
        each = 1 / (1 + np.einsum("ijd,ijd->ij", apart, apart))
        np.fill_diagonal(each, 0)
        pushed: Points = np.einsum("ij,ijd->id", each * each, apart) / max(float(each.sum()), 1e-12)
        return pushed
    from scipy import fft

    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max())
    nodes = int(np.clip(np.ceil(span / _SPACING), _FEWEST_NODES, _MOST_NODES))
    spacing = max(span, 1e-8) / nodes
    side = nodes + 3  # a node more on either side of every point
    size = fft.next_fast_len(2 * side, real=True)
    corners, weights = _spread(places, low, spacing, side)
    charges = np.stack([np.ones(len(places), np.float32), *(places - (low + high) / 2).T])  # (3, n)
    grids = np.stack([np.bincount(corners, (charge[:, None] * weights).ravel(), side * side) for charge in charges])
    distance = (spacing * np.minimum(np.arange(size), size - np.arange(size))) ** 2
    near = (1 / (1 + distance[:, None] + distance[None])).astype(np.float32)
    seen = fft.rfft2(grids.astype(np.float32).reshape(3, side, side), (size, size))
    turned = np.concatenate([seen * fft.rfft2(near**2), (seen[0] * fft.rfft2(near))[None]])
    fields = fft.irfft2(turned, (size, size))[:, :side, :side].reshape(4, -1)
    alone, across, up, total = np.einsum("fnk,nk->fn", fields[:, corners.reshape(weights.shape)], weights)
    around = corners[:9] // side, corners[:9] % side  # any point's nodes lie to each other as those of the first
    own = near[np.abs(around[0][:, None] - around[0]), np.abs(around[1][:, None] - around[1])]
    whole = max(float(total.sum() - np.einsum("na,ab,nb->", weights, own, weights, optimize=True)), 1e-12)
    force = np.stack([alone * charges[1] - across, alone * charges[2] - up], axis=1) / whole
    return force.astype(np.float32)


def _spread(
    places: Points, low: NDArray[np.float32], spacing: float, side: int
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the nine nodes around each point (n * 9,) and how much each has of it (n, 9): quadratic interpolation."""
    at = (places - low).astype(np.float64) / spacing + 1
    middle = np.rint(at)
    off = at - middle
    parts = np.stack([off * (off - 1) / 2, 1 - off * off, off * (off + 1) / 2], axis=2)  # (n, 2, 3)
    weights = parts[:, 0, :, None] * parts[:, 1, None, :]
    rows = middle[:, 0, None].astype(np.int64) + np.arange(-1, 2)
    columns = middle[:, 1, None].astype(np.int64) + np.arange(-1, 2)
    return (rows[:, :, None] * side + columns[:, None, :]).ravel(), weights.reshape(len(places), 9)
