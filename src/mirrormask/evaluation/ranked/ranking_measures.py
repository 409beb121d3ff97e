"""What a ranked list is worth: nDCG@10, MRR@10 and recall, as trec_eval computes them.

Paper: Järvelin & Kekäläinen 2002, "Cumulated Gain-Based Evaluation of IR Techniques", with trec_eval's linear gains:
    DCG@k = sum over the first k places of gain / log2(place + 1), divided by the highest that the judgements allow
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.evaluation.ranked.ranking import Places

AT = 10
"""Places that nDCG and MRR look at."""


def ranking_scores(places: Places, recall_at: Sequence[int]) -> dict[str, NDArray[np.float64]]:
    """Return each query's nDCG@10, MRR@10 and recall (queries,), as fractions.

    Args:
        places: where the relevant documents stand.
        recall_at: lengths of the list for recall: the share of the relevant documents that are in it.

    Example:
        >>> places = Places(np.array([2, 11]), np.array([0, 0]), np.array([1.0, 1.0]), 1)
        >>> {name: round(float(values[0]), 3) for name, values in ranking_scores(places, [10]).items()}
        {'recall_at_10_percent': 0.5, 'mrr_at_10_percent': 0.5, 'ndcg_at_10_percent': 0.387}
    """
    ranks, owners, queries = places.ranks, places.owners, places.queries
    relevant = np.bincount(owners, minlength=queries)
    found = {
        f"recall_at_{k}_percent": np.bincount(owners, weights=ranks <= k, minlength=queries) / relevant
        for k in recall_at
    }
    best = places.best()
    found["mrr_at_10_percent"] = np.where(best <= AT, 1.0 / best, 0.0)
    discounted = np.where(ranks <= AT, places.gains / np.log2(1.0 + ranks), 0.0)
    found["ndcg_at_10_percent"] = np.bincount(owners, weights=discounted, minlength=queries) / _ideal(places)
    return found


def _ideal(places: Places) -> NDArray[np.float64]:
    """Return the DCG@10 of each query's relevant documents in the best order (queries,)."""
    order = np.lexsort((-places.gains, places.owners))
    starts = np.searchsorted(places.owners, np.arange(places.queries))
    place = np.arange(len(order)) - starts[places.owners[order]] + 1  # owners are in order, and so is this
    gained = np.where(place <= AT, places.gains[order] / np.log2(1.0 + place), 0.0)
    return np.bincount(places.owners[order], weights=gained, minlength=places.queries).astype(np.float64)
