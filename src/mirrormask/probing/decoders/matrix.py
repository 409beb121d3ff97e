"""What every decoder takes and gives: a square matrix of scores, heads, spans."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.dependencies import ROOT

__all__ = ["ROOT", "Heads", "Spans", "checked_root", "root_row", "square"]

Heads = NDArray[np.int64]
"""The head of each word, counted from 0, or `ROOT` (n,)."""

Spans = list[tuple[int, int]]
"""Spans `(start, stop)` of two or more words, outer before inner, left before right."""


def square(scores: ArrayLike, *, of: str) -> NDArray[np.float64]:
    """Return the scores as float64 if they are a square matrix of numbers.

    Raises:
        MirrormaskError: they are not square, or hold NaN or +inf; -inf forbids an arc and is allowed.
    """
    found = np.asarray(scores, dtype=np.float64)
    if found.ndim != 2 or found.shape[0] != found.shape[1]:
        raise MirrormaskError(
            f"The scores of {of} must be a square matrix, one row and one column per word. Got shape {found.shape}."
        )
    if np.isnan(found).any() or (found == np.inf).any():
        raise MirrormaskError(f"The scores of {of} must be numbers; one of them is NaN or infinite.")
    return found


def checked_root(root: int | None, n: int, *, of: str) -> int | None:
    """Return the place of the root if it is one of n words."""
    if root is not None and not 0 <= root < n:
        raise MirrormaskError(f"The 'root' of {of} must be a word's place from 0 to {n - 1}. Got {root}.")
    return root


def root_row(root_scores: ArrayLike | None, n: int, *, of: str) -> NDArray[np.float64]:
    """Return the score of each word as a root (n,), zeros where none are given."""
    found = np.zeros(n) if root_scores is None else np.asarray(root_scores, dtype=np.float64)
    if found.shape != (n,):
        raise MirrormaskError(f"The 'root_scores' of {of} must be one number per word, {n}. Got shape {found.shape}.")
    return found
