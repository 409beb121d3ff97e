"""Cosine similarity, in one place for training and measuring."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:  # vectors of numpy need no torch
    from torch import Tensor


def cosine(left: Tensor, right: Tensor) -> Tensor:
    """Return the cosine of every row of `left` (n, d) with every row of `right` (m, d), as (n, m)."""
    from torch.nn import functional as F

    return F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the rows scaled to length 1 in float64; a zero row stays zero."""
    wide = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(wide, axis=-1, keepdims=True)
    return wide / np.where(norms > 0, norms, 1.0)


def paired_cosine(left: NDArray[np.floating], right: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the cosine of row i of `left` with row i of `right`, as (n,).

    Example:
        >>> paired_cosine(np.array([[1.0, 0.0]]), np.array([[1.0, 1.0]])).round(4).tolist()
        [0.7071]
    """
    cosines: NDArray[np.float64] = np.einsum("nd,nd->n", unit_rows(left), unit_rows(right))
    return cosines
