"""Passages found by their words.

score(q, d) = Σ_t count(t, q) · idf(t) · (k1 + 1) · f / (f + k1 · (1 − b + b · |d| / mean |d|)), f = count(t, d),
idf(t) = ln(1 + (n − n_t + ½) / (n_t + ½))

Paper: Robertson and Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond", Eq. 3.15, with the idf of
Lucene, which is never below 0.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import at_least
from mirrormask.search.analysis import Analyzer
from mirrormask.search.postings import Postings, postings_of

Scores = NDArray[np.float32]
Rows = NDArray[np.int64]

_TERMS = 512
_OFTEN = 16


class BM25:
    """Scores all passages of one or more parts of an index for a query; only the postings of its terms are read.

    Passages that were deleted are left for whoever asks to leave out: they count in the statistics until parts are
    merged.

    Args:
        parts: postings; their passages are numbered one part after another.
        analyzer: the one that wrote them.
        k1: how much the second mention of a term adds; 0: nothing.
        b: how much longer passages are held to say less with each word; 0: not, 1: in proportion.
    """

    def __init__(self, parts: Sequence[Postings], analyzer: Analyzer, *, k1: float = 1.2, b: float = 0.6) -> None:
        self.parts, self.analyzer = list(parts), analyzer
        self.k1, self.b = at_least("k1", k1, 0, of="bm25"), at_least("b", b, 0, of="bm25")
        self.passages = sum(map(len, self.parts))
        terms = sum(int(part.lengths.sum(dtype=np.int64)) for part in self.parts)
        self._mean = terms / self.passages if terms else 1.0
        self._norms = [
            (self.k1 * (1 - self.b + self.b * part.lengths / self._mean)).astype(np.float32) for part in self.parts
        ]

    @classmethod
    def of(cls, texts: Sequence[str], analyzer: Analyzer | None = None, *, k1: float = 1.2, b: float = 0.6) -> BM25:
        """Return the scores' source for texts in memory; without an analyzer, one that suits their language.

        Example:
            >>> int(BM25.of(["The cats sleep.", "The dogs bark."]).scores(["a barking dog"]).argmax())
            1
        """
        analyzer = analyzer or Analyzer.for_texts(texts)
        return cls([postings_of(texts, analyzer)], analyzer, k1=k1, b=b)

    def scores(self, queries: Sequence[str]) -> Scores:
        """Return the scores of all passages for each query (q, n)."""
        scores = np.zeros((len(queries), self.passages), dtype=np.float32)
        for row, query in zip(scores, queries, strict=True):
            rows, row_scores = self.found(self.counts(query))
            row[rows] = row_scores
        return scores

    def counts(self, query: str) -> dict[str, float]:
        """Return how often a query names each term; of a very long one, the terms it names most."""
        counts: Mapping[str, float] = Counter(self.analyzer.query(query))
        if len(counts) > _TERMS:
            return dict(heapq.nlargest(_TERMS, counts.items(), key=lambda item: item[1]))
        return dict(counts)

    def idf(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return how telling each term is: 0 for one that no passage holds."""
        return self._idf([part.sizes(terms) for part in self.parts])

    def found(self, weights: Mapping[str, float]) -> tuple[Rows, Scores]:
        """Return the passages that hold any of the terms, ascending, and their scores; all others have 0.

        Args:
            weights: terms with weights, such as those of `counts`.
        """
        places = [part.places(list(weights)) for part in self.parts]
        values = self._idf([[place.stop - place.start for place in own] for own in places]) * (self.k1 + 1)
        values *= np.fromiter(weights.values(), np.float64, len(weights))
        found, offset = [], 0
        for part, norms, own in zip(self.parts, self._norms, places, strict=True):
            sizes = [place.stop - place.start for place in own]
            rows = np.concatenate([part.passages[:0], *(part.passages[place] for place in own)])
            counts = np.concatenate([part.counts[:0], *(part.counts[place] for place in own)]).astype(np.float32)
            scores = np.repeat(values.astype(np.float32), sizes) * counts / (counts + norms[rows])
            rows, scores = _summed(rows, scores, len(part))
            found.append((rows + offset, scores))
            offset += len(part)
        if not found:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        return np.concatenate([rows for rows, _ in found]), np.concatenate([scores for _, scores in found])

    def norm(self, length: int) -> float:
        """Return what a passage's length adds below the line of the formula."""
        return self.k1 * (1 - self.b + self.b * length / self._mean)

    def _idf(self, sizes: Sequence[Any]) -> NDArray[np.float64]:
        """Return the idf of terms, given how many passages of each part hold them."""
        holding = np.sum(sizes, axis=0, dtype=np.float64) if sizes else np.zeros(0)
        return np.where(holding > 0, np.log1p((self.passages - holding + 0.5) / (holding + 0.5)), 0.0)


def _summed(rows: NDArray[np.int32], scores: Scores, passages: int) -> tuple[Rows, Scores]:
    """Return each row once, ascending, with the sum of its scores, all above 0."""
    if _OFTEN * len(rows) >= passages:  # a pass over all passages costs less than putting these in order
        sums = np.bincount(rows, weights=scores, minlength=passages)
        own = np.flatnonzero(sums)
        return own, sums[own].astype(np.float32)
    order = np.argsort(rows, kind="stable")  # quick: each term's rows are sorted already
    own, firsts = np.unique(rows[order], return_index=True)
    return own.astype(np.int64), np.add.reduceat(scores[order], firsts) if len(own) else scores
