"""A query asked again, with the telling words of its first hits.

A hit counts by the softmax of its score, so that one that stands out is heard alone.

Paper: Rocchio 1971, "Relevance feedback in information retrieval", with hits that nobody judged
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.search.bm25 import BM25
from mirrormask.search.stop_words import STOP_WORDS

Floats = NDArray[np.float32]

HITS = 5
"""First hits that are heard."""

_TERMS, _NEW = 20, 0.3


def shares(scores: Floats) -> Floats:
    """Return how much each of the first hits is heard, by its score in standard deviations; together 1."""
    powers = np.exp(scores - scores.max(initial=-np.inf))
    found: Floats = powers / max(float(powers.sum()), 1e-9)
    return found


def expanded(words: BM25, counts: Mapping[str, float], texts: Sequence[str], heard: Floats) -> dict[str, float]:
    """Return the weights of a query's terms with the most telling terms of its first hits among them.

    Args:
        words: where the terms will be looked up.
        counts: the query's own terms, as `words.counts` gives them.
        texts: the first hits.
        heard: the share of each of them.
    """
    total = sum(counts.values())
    if not total or not texts:
        return dict(counts)
    gains: dict[str, float] = {}
    for text, share in zip(texts, heard.tolist(), strict=True):
        held = words.analyzer.terms(text)
        norm = words.norm(len(held))
        for term, count in Counter(held).items():
            if len(term) > 1 and term not in STOP_WORDS:
                gains[term] = gains.get(term, 0.0) + share * count / (count + norm)
    terms = list(gains)
    telling = words.idf(terms) * np.fromiter(gains.values(), np.float64, len(terms))
    best = np.argpartition(telling, -_TERMS)[-_TERMS:] if len(terms) > _TERMS else np.arange(len(terms))
    new = _NEW * telling / max(float(telling[best].sum()), 1e-9)
    weights = {term: (1 - _NEW) * count / total for term, count in counts.items()}
    for number in best.tolist():
        weights[terms[number]] = weights.get(terms[number], 0.0) + float(new[number])
    return weights
