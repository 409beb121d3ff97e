"""How an impact matrix becomes scores of arcs: row i is the dependent, column j its possible head.

A number added to a whole row changes no tree, since every word takes exactly one head; what is done to columns, and
anything that is not a sum, does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mirrormask.core.errors import one_of

Floats = NDArray[np.float64]


def as_it_is(matrix: Floats) -> Floats:
    """Return the matrix."""
    return matrix


def row_softmax(matrix: Floats) -> Floats:
    """Return the softmax of each row: how likely each word is the head of word i. The corrected form."""
    shares = np.exp(matrix - matrix.max(axis=1, keepdims=True))
    found: Floats = shares / shares.sum(axis=1, keepdims=True)
    return found


def released_softmax(matrix: Floats) -> Floats:
    """Return what the published code computes: column j divided by the sum of *row* j, for want of `keepdims`."""
    shares = np.exp(matrix - matrix.max())
    found: Floats = shares / shares.sum(axis=1)
    return found


def row_share(matrix: Floats) -> Floats:
    """Return each row divided by its mean, so that easily moved words count no more than others."""
    return matrix / _positive(matrix.mean(axis=1, keepdims=True))


def column_share(matrix: Floats) -> Floats:
    """Return each column divided by its mean, so that words which move everything are no head of everything."""
    return matrix / _positive(matrix.mean(axis=0, keepdims=True))


def both_shares(matrix: Floats) -> Floats:
    """Return the matrix over what its rows and columns alone would lead to expect."""
    rows, columns = matrix.sum(axis=1, keepdims=True), matrix.sum(axis=0, keepdims=True)
    return matrix * matrix.sum() / _positive(rows * columns)


def symmetric(matrix: Floats) -> Floats:
    """Return the mean of the matrix and its transpose: which words belong together, not which leads."""
    return (matrix + matrix.T) / 2


def symmetric_shares(matrix: Floats) -> Floats:
    """Return `both-shares` made symmetric."""
    return symmetric(both_shares(matrix))


def _positive(values: Floats) -> Floats:
    return np.where(values > 0, values, 1.0)


NORMALIZATIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": as_it_is,
    "softmax": row_softmax,
    "released": released_softmax,
    "row-share": row_share,
    "column-share": column_share,
    "both-shares": both_shares,
    "symmetric": symmetric,
    "symmetric-shares": symmetric_shares,
}
"""The normalizations by name."""


def normalized(matrix: ArrayLike, how: str) -> Floats:
    """Return the scores of arcs by one of `NORMALIZATIONS`, the diagonal zero.

    Example:
        >>> normalized([[0, 1.0], [3.0, 0]], "symmetric").tolist()
        [[0.0, 2.0], [2.0, 0.0]]
    """
    one_of("normalization", how, NORMALIZATIONS, of="a probe")
    wide = np.array(matrix, dtype=np.float64)
    if len(wide) < 2:
        return wide
    if how not in ("released",):
        np.fill_diagonal(wide, -np.inf if how == "softmax" else 0.0)
    found = NORMALIZATIONS[how](wide)
    np.fill_diagonal(found, 0.0)
    return found
