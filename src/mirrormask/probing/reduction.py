"""From sub-words to units: which number stands for the several of a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import one_of

REDUCTIONS = ("mean", "first", "max", "sum")
"""How the numbers of the sub-words of a unit become one."""

Floats = NDArray[np.floating[Any]]


def reduced(values: Floats, sizes: NDArray[np.int64], how: str, *, axis: int) -> Floats:
    """Return the values with the sub-words of each unit made one.

    Args:
        values: any array; along `axis` it has one entry per sub-word, unit after unit.
        sizes: number of sub-words of each unit, all above 0.
        how: a name of `REDUCTIONS`.
        axis: which axis.

    Example:
        >>> reduced(np.array([1.0, 2.0, 6.0]), np.array([1, 2]), "mean", axis=0).tolist()
        [1.0, 4.0]
    """
    one_of("reduction", how, REDUCTIONS, of="sub-words")
    starts = np.cumsum(sizes) - sizes
    if how == "first":
        return np.take(values, starts, axis=axis)
    if how == "max":
        return np.asarray(np.maximum.reduceat(values, starts, axis=axis))
    total = np.asarray(np.add.reduceat(values, starts, axis=axis))
    if how == "sum":
        return total
    shape = [1] * values.ndim
    shape[axis] = len(sizes)
    return np.asarray(total / sizes.reshape(shape).astype(values.dtype))
