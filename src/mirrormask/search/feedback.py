"""A query asked again, with the telling words of its first hits.

A hit counts by the softmax of its score, so that one that stands out is heard alone.

Paper: Rocchio 1971, "Relevance feedback in information retrieval", with hits that nobody judged
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping

import numpy as np

from mirrormask.search.asked import Floats, Rows, Words
from mirrormask.search.stop_words import STOP_WORDS

HITS = 5
"""First hits that are heard."""

_TERMS, _NEW = 20, 0.3
_SPARE = 20  # of telling terms, some may be stop words or single letters


def shares(scores: Floats) -> Floats:
    """Return how much each of the first hits is heard, by its score in standard deviations; together 1."""
    powers = np.exp(scores - scores.max(initial=-np.inf))
    found: Floats = powers / max(float(powers.sum()), 1e-9)
    return found


def expanded(words: Words, counts: Mapping[str, float], hits: Rows, heard: Floats) -> dict[str, float]:
    """Return the weights of a query's terms with the most telling terms of its first hits among them.

    Args:
        words: where the terms will be looked up.
        counts: the query's own terms, as `words.counts` gives them.
        hits: the first hits' rows.
        heard: the share of each of them.
    """
    total = sum(counts.values())
    if not total or not len(hits):
        return dict(counts)
    telling = words.telling(hits, heard, _TERMS + _SPARE)
    named = {term: value for term, value in telling.items() if len(term) > 1 and term not in STOP_WORDS}
    best = dict(heapq.nlargest(_TERMS, named.items(), key=lambda item: item[1]))
    weights = {term: (1 - _NEW) * count / total for term, count in counts.items()}
    whole = max(sum(best.values()), 1e-9)
    for term, value in best.items():
        weights[term] = weights.get(term, 0.0) + _NEW * value / whole
    return weights
