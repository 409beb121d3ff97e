"""Passages found by their words.

score(q, d) = Σ_t count(t, q) · idf(t) · (k1 + 1) · f / (f + k1 · (1 − b + b · |d| / mean |d|)), f = count(t, d),
idf(t) = ln(1 + (n − n_t + ½) / (n_t + ½))

Paper: Robertson and Zaragoza 2009, "The probabilistic relevance framework: BM25 and beyond", Eq. 3.15, with the idf of
Lucene, which is never below 0.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import at_least
from mirrormask.search.analysis import Analyzer
from mirrormask.search.asked import FIRST, Mask, Rows, WordHits
from mirrormask.search.postings import Postings, postings_of

Scores = NDArray[np.float32]

K1, B = 1.2, 0.6

_TERMS = 512
_EVERY = 64


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

    def __init__(self, parts: Sequence[Postings], analyzer: Analyzer, *, k1: float = K1, b: float = B) -> None:
        self.parts, self.analyzer = list(parts), analyzer
        self.k1, self.b = at_least("k1", k1, 0, of="bm25"), at_least("b", b, 0, of="bm25")
        self.passages = sum(map(len, self.parts))
        terms = sum(int(part.lengths.sum(dtype=np.int64)) for part in self.parts)
        self._mean = terms / self.passages if terms else 1.0
        self._norms = [
            (self.k1 * (1 - self.b + self.b * part.lengths / self._mean)).astype(np.float32) for part in self.parts
        ]

    @classmethod
    def of(cls, texts: Sequence[str], analyzer: Analyzer | None = None, *, k1: float = K1, b: float = B) -> BM25:
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
        return counts_of(query, self.analyzer)

    def idf(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """Return how telling each term is: 0 for one that no passage holds."""
        return self._idf([part.sizes(part.numbers(terms)) for part in self.parts])

    def add_scores(self, weights: Mapping[str, float], scores: Scores) -> None:
        """Add to `scores` (n,) what terms with weights, such as those of `counts`, give each passage."""
        offset = 0
        for part, norms, numbers, values in self._asked(weights):
            there = scores[offset : offset + len(part)]
            for number, value in zip(numbers.tolist(), values, strict=True):
                if number >= 0:
                    place = slice(*part.starts[number : number + 2].tolist())
                    passages, gains = part.passages[place], part.counts[place].astype(np.float32)
                    gains /= gains + norms.take(passages)
                    there[passages] = there.take(passages) + value * gains
            offset += len(part)

    def first(self, weights: Mapping[str, float], depth: int, allowed: Mask | None, beside: Rows) -> WordHits:
        """Return the `depth` best passages above 0 for terms with weights, and those `beside` them with their scores.

        Args:
            weights: such as those of `counts`.
            depth: how many.
            allowed: which passages may be found (n,); None: all.
            beside: rows whose scores are wanted too.
        """
        scores = np.zeros(self.passages, dtype=np.float32)
        self.add_scores(weights, scores)
        best = highest(scores, depth, allowed)
        ten = best if allowed is None and depth >= FIRST else highest(scores, FIRST)
        rows = np.sort(np.concatenate([beside, best]))
        rows = rows[np.diff(rows, prepend=-1) > 0]
        mean = float(scores.mean()) if len(scores) else 0.0
        deviation = max(float(scores @ scores) / max(len(scores), 1) - mean**2, 1e-12) ** 0.5
        return WordHits(rows, scores[rows], np.sort(scores[ten])[-FIRST:], mean, deviation)

    def scores_of(self, weights: Mapping[str, float], rows: Rows) -> Scores:
        """Return what terms with weights give some passages (m,), in ascending order: quicker than all of them."""
        scores = np.zeros(len(rows), dtype=np.float32)
        asked = list(self._asked(weights))
        for which, here, own in self._parts_of(rows):
            part, norms, numbers, values = asked[which]
            worth = np.zeros(len(part.keys) + 1, dtype=np.float32)  # the last: of what is not there
            worth[numbers] = values
            places, ends = part.by_passage.places(own)
            gains = worth.take(part.by_passage.terms.take(places))
            held = np.flatnonzero(gains)
            passages = np.searchsorted(ends, held, side="right")
            times = part.by_passage.times.take(places.take(held))
            gains = gains.take(held) * times / (times + norms[own].take(passages))
            scores[here] = np.bincount(passages, gains, len(own))
        return scores

    def telling(self, rows: Rows, shares: Scores, most: int) -> dict[str, float]:
        """Return how telling the terms of some passages are, idf times how much of their scores they could be.

        Args:
            rows: passages (m,).
            shares: how much each of them counts (m,).
            most: how many terms of each part of the index are returned, the most telling.
        """
        found: dict[str, float] = {}
        order = np.argsort(rows)
        for which, here, own in self._parts_of(rows[order]):
            part, norms = self.parts[which], self._norms[which]
            places, ends = part.by_passage.places(own)
            times, sizes = part.by_passage.times.take(places), np.diff(ends, prepend=0)
            gains = np.repeat(shares[order][here], sizes) * times / (times + np.repeat(norms[own], sizes))
            terms, place = np.unique(part.by_passage.terms.take(places), return_inverse=True)
            summed = np.bincount(place, gains, len(terms))
            values = summed * self._idf([part.sizes(terms)])
            best = np.argsort(-values, kind="stable")[:most]
            names = part.names(terms[best])
            if len(self.parts) > 1:
                values[best] = summed[best] * self.idf(names)
            for name, value in zip(names, values[best].tolist(), strict=True):
                found[name] = found.get(name, 0.0) + value
        return found

    def _parts_of(self, rows: Rows) -> Iterator[tuple[int, slice, Rows]]:
        """Yield each part that holds some of the passages, which of `rows` these are, and their numbers in it."""
        offset = 0
        for which, part in enumerate(self.parts):
            here = slice(*np.searchsorted(rows, (offset, offset + len(part))).tolist())
            if here.stop > here.start:
                yield which, here, rows[here] - offset
            offset += len(part)

    def _asked(self, weights: Mapping[str, float]) -> Iterator[tuple[Postings, Scores, Rows, Scores]]:
        """Yield each part with its norms, the numbers of terms in it, and what each term is worth."""
        numbers = [part.numbers(list(weights)) for part in self.parts]
        sizes = [part.sizes(own) for part, own in zip(self.parts, numbers, strict=True)]
        values = self._idf(sizes) * (self.k1 + 1) * np.fromiter(weights.values(), np.float64, len(weights))
        for part, norms, own in zip(self.parts, self._norms, numbers, strict=True):
            yield part, norms, own, values.astype(np.float32)

    def _idf(self, sizes: Sequence[Any]) -> NDArray[np.float64]:
        """Return the idf of terms, given how many passages of each part hold them."""
        return idf(np.sum(sizes, axis=0, dtype=np.float64) if sizes else np.zeros(0), self.passages)


def idf(holding: NDArray[np.float64], passages: int) -> NDArray[np.float64]:
    """Return how telling terms are that so many of all passages hold: 0 where none does."""
    return np.where(holding > 0, np.log1p((passages - holding + 0.5) / (holding + 0.5)), 0.0)


def counts_of(query: str, analyzer: Analyzer) -> dict[str, float]:
    """Return how often a query names each term; of a very long one, the terms it names most."""
    counts: Mapping[str, float] = Counter(analyzer.query(query))
    if len(counts) > _TERMS:
        return dict(heapq.nlargest(_TERMS, counts.items(), key=lambda item: item[1]))
    return dict(counts)


def highest(scores: Scores, depth: int, allowed: NDArray[np.bool_] | None = None) -> Rows:
    """Return the rows of the `depth` highest scores above 0, in no order.

    Args:
        scores: of all passages (n,), most of them far below the highest.
        depth: how many.
        allowed: which passages may be among them (n,); None: all.
    """
    some = scores[::_EVERY]
    place = len(some) - 1 - depth // 4  # where a sample has a quarter as many, everything has several times as many
    bound = max(float(np.partition(some, place)[place]), 0.0) if place > 0 else 0.0
    for least in (bound, 0.0):
        rows = np.flatnonzero(scores > least)
        rows = rows if allowed is None else rows[allowed[rows]]
        if len(rows) >= depth:
            break
    return rows if len(rows) <= depth else rows[np.argpartition(scores[rows], -depth)[-depth:]]
