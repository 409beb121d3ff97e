"""MART, the matrix-based top-down parser: split a span where its two sides have least to do with each other.

Paper: Wu et al. 2020, "Perturbed Masking", section 3.2: with k the first word of the right side,

    argmax_k  mean F[<k, <k] + mean F[≥k, ≥k] − mean F[<k, ≥k] − mean F[≥k, <k]

Three forms are kept apart by name. `mart` takes the formula and splits into the words before k and those from k on.
`mart-paper` takes the formula and then, as the paper writes it, ((x<k), (xk, (x>k))): word k is always set apart, which
leans to right branching. `mart-released` is what the published code does: on a softmax over each column turned into
a distance, it minimizes left / 2k + right / 2(n−k) − between / k(n−k), where right and between leave word k out; a
matrix without any information gives pure right branching.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mirrormask.core.errors import one_of
from mirrormask.probing.decoders.matrix import Spans, square

FORMS = ("mart", "mart-paper", "mart-released")


def mart(scores: ArrayLike, *, form: str = "mart") -> Spans:
    """Return the spans of the greedy binary tree.

    Args:
        scores: an impact matrix (n, n); the diagonal counts as zero.
        form: `mart`, `mart-paper` or `mart-released`, see above.

    Example:
        >>> blocks = np.kron(np.eye(2), np.ones((2, 2)))
        >>> mart(blocks), mart(np.ones((4, 4)), form="mart-released")
        ([(0, 4), (0, 2), (2, 4)], [(0, 4), (1, 4), (2, 4)])
    """
    one_of("form", form, FORMS, of="mart")
    matrix = square(scores, of="mart").copy()
    n = len(matrix)
    np.fill_diagonal(matrix, 0.0)
    if form == "mart-released" and n:
        matrix = released_distances(matrix)
    sums = np.zeros((n + 1, n + 1))
    sums[1:, 1:] = matrix.cumsum(axis=0).cumsum(axis=1)  # any block is four corners of this
    choose = _released_cut if form == "mart-released" else _paper_cut
    apart = form != "mart"
    spans: Spans = []
    waiting = [(0, n)]
    while waiting:
        start, stop = waiting.pop()
        if stop - start < 2:
            continue
        spans.append((start, stop))
        cut = start + 1 if stop - start == 2 else choose(sums, start, stop)
        waiting.append((start, cut))
        if apart and stop - cut > 1:
            spans.append((cut, stop))
            cut += 1
        waiting.append((cut, stop))
    return sorted(spans, key=lambda span: (span[0], -span[1]))


def released_distances(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what the published code splits: one minus the softmax of each column, zero on the diagonal."""
    shares = np.exp(matrix - matrix.max())
    distances: NDArray[np.float64] = 1.0 - shares / shares.sum(axis=0)
    np.fill_diagonal(distances, 0.0)
    return distances


def _paper_cut(sums: NDArray[np.float64], start: int, stop: int) -> int:
    cuts = np.arange(start + 1, stop)
    left, right = cuts - start, stop - cuts
    whole = _block(sums, start, stop, start, stop)
    first = _block(sums, start, cuts, start, cuts)
    second = _block(sums, cuts, stop, cuts, stop)
    gains = first / left**2 + second / right**2 - (whole - first - second) / (left * right)
    return int(cuts[gains.argmax()])


def _released_cut(sums: NDArray[np.float64], start: int, stop: int) -> int:
    cuts = np.arange(start + 1, stop)
    left, right = cuts - start, stop - cuts
    first = _block(sums, start, cuts, start, cuts)
    second = _block(sums, cuts + 1, stop, cuts + 1, stop)
    between = _block(sums, start, cuts, cuts + 1, stop) + _block(sums, cuts + 1, stop, start, cuts)
    costs = first / (2 * left) + second / (2 * right) - between / (left * right)
    return int(cuts[costs.argmin()])


def _block(
    sums: NDArray[np.float64],
    top: int | NDArray[np.int64],
    bottom: int | NDArray[np.int64],
    left: int | NDArray[np.int64],
    right: int | NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the sum of the rows from top to bottom and the columns from left to right, for many blocks at once."""
    found: NDArray[np.float64] = sums[bottom, right] - sums[top, right] - sums[bottom, left] + sums[top, left]
    return found
