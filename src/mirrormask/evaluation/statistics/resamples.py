"""Statistics of a whole block of resamples at once, each resample given as how often it holds every unit.

A bootstrap resample of n units is n counts that sum to n, and every statistic here is a function of them. Ranks inside
a resample then need no sorting: the order of the values is known, and cumulative counts give the places.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
"""How often each of r resamples holds each of n units (r, n)."""

Statistic = Callable[[Counts], NDArray[np.float64]]
"""From counts (r, n) to one value per resample (r,)."""


def mean_of(values: NDArray[np.floating]) -> Statistic:
    """Return the mean of one value per unit (n,), such as a query's reciprocal rank."""
    wide = np.asarray(values, dtype=np.float64)
    return lambda counts: counts @ wide / counts.sum(axis=1)


def pearson_of(left: NDArray[np.floating], right: NDArray[np.floating]) -> Statistic:
    """Return Pearson's correlation of two values per unit (n,) each; 0 where a side is constant in a resample."""
    left, right = _standardized(left), _standardized(right)
    columns = np.stack([left, right, left * left, right * right, left * right], axis=1)  # (n, 5)

    def statistic(counts: Counts) -> NDArray[np.float64]:
        x, y, xx, yy, xy = (counts @ columns / counts.sum(axis=1, keepdims=True)).T
        return _correlation(xy - x * y, xx - x * x, yy - y * y)

    return statistic


def spearman_of(left: NDArray[np.floating], right: NDArray[np.floating]) -> Statistic:
    """Return Spearman's correlation of two values per unit (n,) each, ties averaged inside every resample."""
    first, second = _Ranks(left), _Ranks(right)

    def statistic(counts: Counts) -> NDArray[np.float64]:
        total = counts.sum(axis=1)
        middle = (total + 1) / 2  # the mean rank, with ties or without
        x, x_variance = first.of(counts, middle)
        y, y_variance = second.of(counts, middle)
        x *= counts
        return _correlation(np.einsum("rn,rn->r", x, y), x_variance, y_variance)

    return statistic


class Rows:
    """Some of the units, such as one task of several; what they are drawn is looked up once for all its statistics.

    Args:
        rows: places of these units among all (m,).
    """

    def __init__(self, rows: NDArray[np.int64]) -> None:
        self._rows = rows
        self._last: tuple[Counts, Counts] | None = None

    def __call__(self, counts: Counts) -> Counts:
        """Return how often each resample holds them (r, m)."""
        if self._last is None or self._last[0] is not counts:
            self._last = counts, counts[:, self._rows]
        return self._last[1]


def on_rows(rows: Rows, statistic: Statistic) -> Statistic:
    """Return a statistic of some of the units only, such as one subset of an STS task."""
    return lambda counts: statistic(rows(counts))


def macro_f1_of(predicted: NDArray[np.integer], gold: NDArray[np.integer], classes: int) -> Statistic:
    """Return the unweighted mean of the classes' F1; a class that a resample neither holds nor predicts is left out."""
    hit = np.eye(classes)[gold] * (predicted == gold)[:, None]  # (n, classes)
    either = np.eye(classes)[gold] + np.eye(classes)[predicted]

    def statistic(counts: Counts) -> NDArray[np.float64]:
        hits, seen = counts @ hit, counts @ either  # F1 = 2 TP / (2 TP + FP + FN)
        present = seen > 0
        f1 = np.divide(2 * hits, seen, out=np.zeros_like(hits), where=present)
        return f1.sum(axis=1) / present.sum(axis=1)

    return statistic


class _Ranks:
    """The average ranks of one list of values inside every resample."""

    def __init__(self, values: NDArray[np.floating]) -> None:
        values = np.asarray(values, dtype=np.float64)
        self.order = np.argsort(values, kind="stable")
        ordered = values[self.order]
        self.starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
        self.group = np.empty(len(values), dtype=np.int64)
        self.group[self.order] = np.repeat(np.arange(len(self.starts)), np.diff(np.r_[self.starts, len(values)]))

    def of(self, counts: Counts, middle: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return every unit's rank less the mean rank (r, n), and the sum of its squares over the resample (r,)."""
        held = np.add.reduceat(counts[:, self.order], self.starts, axis=1)  # (r, groups)
        ranks = np.cumsum(held, axis=1) - (held - 1) / 2 - middle[:, None]
        return ranks[:, self.group], np.einsum("rg,rg,rg->r", held, ranks, ranks)


def _standardized(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the values with mean 0 and variance 1, so that the one-pass variances below lose no digits."""
    wide = np.asarray(values, dtype=np.float64)
    deviation = wide.std()
    return (wide - wide.mean()) / (deviation if deviation > 0 else 1.0)


def _correlation(
    covariance: NDArray[np.float64], left: NDArray[np.float64], right: NDArray[np.float64]
) -> NDArray[np.float64]:
    scale = np.sqrt(np.maximum(left, 0) * np.maximum(right, 0))
    defined = (left > 1e-12) & (right > 1e-12)
    return np.divide(covariance, scale, out=np.zeros_like(covariance), where=defined)
