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

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import at_least
from mirrormask.search.analysis import Analyzer
from mirrormask.search.postings import Postings, postings_of

Scores = NDArray[np.float32]

_TERMS = 512


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
        mean = sum(int(part.lengths.sum(dtype=np.int64)) for part in self.parts) / max(self.passages, 1)
        self._norms = [(k1 * (1 - b + b * part.lengths / max(mean, 1e-9))).astype(np.float32) for part in self.parts]

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
        found = np.zeros((len(queries), self.passages), dtype=np.float32)
        for row, query in zip(found, queries, strict=True):
            self.add_scores(self.counts(query), row)
        return found

    def counts(self, query: str) -> dict[str, float]:
        """Return how often a query names each term; of a very long one, the terms it names most."""
        counts: Mapping[str, float] = Counter(self.analyzer.query(query))
        if len(counts) > _TERMS:
            return dict(heapq.nlargest(_TERMS, counts.items(), key=lambda item: item[1]))
        return dict(counts)

    def idf(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return how telling each term is: 0 for one that no passage holds."""
        return self._idf([part.places(terms) for part in self.parts])

    def add_scores(self, weights: Mapping[str, float], scores: Scores) -> None:
        """Add to `scores` (n,) what terms with weights, such as those of `counts`, give each passage."""
        places = [part.places(list(weights)) for part in self.parts]
        values = self._idf(places) * (self.k1 + 1) * np.fromiter(weights.values(), np.float64, len(weights))
        offset = 0
        for part, norms, own in zip(self.parts, self._norms, places, strict=True):
            there = scores[offset : offset + len(part)]
            for place, value in zip(own, values.astype(np.float32), strict=True):
                passages, counts = part.passages[place], part.counts[place].astype(np.float32)
                there[passages] += value * counts / (counts + norms[passages])
            offset += len(part)

    def _idf(self, places: Sequence[Sequence[slice]]) -> NDArray[np.float64]:
        """Return the idf of terms, given their places in each part."""
        sizes = [[place.stop - place.start for place in own] for own in places]
        holding = np.sum(sizes, axis=0, dtype=np.float64) if sizes else np.zeros(0)
        return np.where(holding > 0, np.log1p((self.passages - holding + 0.5) / (holding + 0.5)), 0.0)
