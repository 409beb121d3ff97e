"""Correlation of predicted similarities with gold scores, and the three ways the literature adds up subsets.

Papers disagree silently about the last step (Gao et al. 2021, "SimCSE", appendix B compares them): `all` is one
correlation over every pair, `mean` the plain mean of the subsets' correlations, `wmean` their mean weighted by size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Correlation = Callable[[NDArray[np.floating], NDArray[np.floating]], float]

AGGREGATIONS = ("all", "mean", "wmean")


def spearman(predicted: NDArray[np.floating], gold: NDArray[np.floating]) -> float:
    """Return Spearman's rank correlation, ties averaged; 0 where a side is constant, since it ranks nothing.

    Example:
        >>> round(spearman(np.array([0.1, 0.2, 0.9]), np.array([1, 3, 5])), 4)
        1.0
    """
    from scipy.stats import rankdata

    return pearson(rankdata(predicted), rankdata(gold))


def pearson(predicted: NDArray[np.floating], gold: NDArray[np.floating]) -> float:
    """Return Pearson's linear correlation; 0 where a side is constant.

    Example:
        >>> round(pearson(np.array([0.0, 0.0, 1.0]), np.array([0, 1, 2])), 4)
        0.866
    """
    from scipy.stats import pearsonr

    if len(predicted) < 2 or np.ptp(predicted) == 0 or np.ptp(gold) == 0:
        return 0.0
    return float(pearsonr(predicted, gold).statistic)


def subset_rows(subsets: Sequence[str]) -> dict[str, NDArray[np.int64]]:
    """Return the rows of each subset, subsets in the order they first appear.

    Example:
        >>> {name: rows.tolist() for name, rows in subset_rows(["b", "a", "b"]).items()}
        {'b': [0, 2], 'a': [1]}
    """
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(subsets):
        rows.setdefault(name, []).append(row)
    return {name: np.array(found, dtype=np.int64) for name, found in rows.items()}


def aggregated(
    correlation: Correlation,
    predicted: NDArray[np.floating],
    gold: NDArray[np.floating],
    subsets: Sequence[str] | None,
) -> dict[str, float]:
    """Return the correlation under every aggregation; without subsets the three are the same number.

    Example:
        >>> values = np.array([1.0, 2.0, 3.0, 1.0, 2.0])
        >>> gold = np.array([1.0, 2.0, 3.0, 1.0, 1.0])
        >>> found = aggregated(spearman, values, gold, ["a", "a", "a", "b", "b"])
        >>> {name: f"{value:.2f}" for name, value in found.items()}
        {'all': '0.82', 'mean': '0.50', 'wmean': '0.60'}
    """
    whole = correlation(predicted, gold)
    if subsets is None:
        return dict.fromkeys(AGGREGATIONS, whole)
    groups = list(subset_rows(subsets).values())
    parts = [correlation(predicted[rows], gold[rows]) for rows in groups]
    sizes = [len(rows) for rows in groups]
    return {"all": whole, "mean": float(np.mean(parts)), "wmean": float(np.average(parts, weights=sizes))}
