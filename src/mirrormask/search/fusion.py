"""Words and vectors together, with a weight of the words that no label was needed for.

Both scores are standardized over all passages of the index, for each query: for words by sums over the passages that
hold a term (all others have 0), for vectors by the mean μ and covariance Σ of the index's vectors, as q·μ and qᵀΣq. So
a search that meets the first hits of each part only, as a graph of neighbors does, has the scores of one that looks at
everything.

Words weigh more the more their first hit stands out among their first ten, the less the nearest vector stands out for
this query, and the less neighbors stand out among the vectors of the index at all: an encoder to which everything is
about equally near has little to say. Then the words are asked once more of the passages at hand, with the telling
words of the first hits, the query's vector takes a step toward these, and both scores keep the size they had.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from mirrormask.search.asked import FIRST, Floats, Rows, Vectors, Words
from mirrormask.search.feedback import HITS, expanded, shares

_WEIGHT = 5.8
_STEP = 0.3
_LEAST, _MOST = 0.4, 3.0
_SAMPLE, _BESIDE = 256, 5


@dataclass(frozen=True)
class Joined:
    """Passages that one of the parts has among its first, and the standardized score of each part, words weighted."""

    rows: Rows
    by_words: Floats
    by_vectors: Floats

    @property
    def scores(self) -> Floats:
        """Return the sum of both parts."""
        found: Floats = self.by_words + self.by_vectors
        return found


def search_both(
    words: Words,
    vectors: Vectors,
    text: str,
    vector: Floats,
    *,
    depth: int,
    allowed: Any = None,
    weight: float | None = None,
    concentrated: float = 1.0,
) -> Joined:
    """Return what words and vectors have among their first `depth` passages, scored by both, in no order.

    Args:
        words: the passages' terms.
        vectors: the passages' vectors.
        text: the query.
        vector: its vector (d,).
        depth: how many of each part.
        allowed: which passages may be found, as the index has it; None: all.
        weight: of words; None: chosen for this query.
        concentrated: the index's `concentration`.
    """
    counts = words.counts(text)
    near, rows = vectors.search(vector[None], depth, allowed)
    nearest = rows[0][rows[0] >= 0]
    mean, deviation = (float(moment[0]) for moment in vectors.moments(vector[None]))
    hits = words.first(counts, depth, allowed, nearest)
    rows, own, middle, spread = hits.rows, hits.scores, hits.mean, hits.deviation
    nearness, held = vectors.compared(vector, rows)
    by_vectors = ((nearness - mean) / deviation).astype(np.float32)
    if weight is None:
        ten = hits.highest
        tenth = ten[0] if len(ten) >= FIRST else 0.0
        gap = (ten[-1] - tenth) / (ten[-1] - middle) if len(ten) else 0.0
        top = (float(near[0][0]) - mean) / deviation if len(nearest) else 1.0
        weight = word_weight(gap, top, concentrated)
    found = Joined(rows, (weight * (own - middle) / spread).astype(np.float32), by_vectors)
    if not weight or not own.any():
        return found
    first = np.argsort(-found.scores, kind="stable")[:HITS]
    heard = shares(found.scores[first])
    again = words.scores_of(expanded(words, counts, rows[first], heard), rows)
    again *= np.linalg.norm(own) / max(float(np.linalg.norm(again)), 1e-9)
    nearer = nearness + held @ (_STEP * heard @ held[first])
    nearer -= nearer.mean()
    mean = by_vectors.mean()
    nearer *= np.linalg.norm(by_vectors - mean) / max(float(np.linalg.norm(nearer)), 1e-9)
    return Joined(rows, (weight * (again - middle) / spread).astype(np.float32), (mean + nearer).astype(np.float32))


def word_weight(gap: float, nearest: float, concentrated: float) -> float:
    """Return what standardized scores of words weigh beside those of vectors, for one query.

    Args:
        gap: by how much of itself the first hit by words is above the tenth.
        nearest: the highest standardized score by vectors.
        concentrated: the index's `concentration`.
    """
    return _WEIGHT * gap / (max(nearest, 1.0) * concentrated**2)


def concentration(vectors: Floats) -> float:
    """Return how far neighbors stand out among vectors, beside what chance gives as many: about 0.7 to 1.8.

    Args:
        vectors: those of an index in their order, or a sample evenly spaced (n, d). Of those beside a vector in this
            order, which may be pieces of the same document, none counts as its neighbor.

    Example:
        >>> round(concentration(np.random.default_rng(0).standard_normal((2000, 64), dtype=np.float32)), 1)
        1.0
    """
    count = len(vectors)
    if count < 4 * _BESIDE:
        return 1.0
    some = np.unique(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(np.int64))
    similar = vectors[some] @ vectors.T
    highest = similar.mean(1), similar.std(1)
    similar[np.abs(some[:, None] - np.arange(count)) <= _BESIDE] = -np.inf
    standing = (similar.max(1) - highest[0]) / np.maximum(highest[1], 1e-6)
    found = float(standing.mean()) / NormalDist().inv_cdf(1 - 1 / count)
    return min(max(found, _LEAST), _MOST)
