"""The words of many texts at once: where they begin, and parts of texts cut at them without a loop over texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids

Numbers = NDArray[np.int64]


def word_edges(ids: Ids, starts: NDArray[np.bool_]) -> Numbers:
    """Return where each word of a text begins, and the end of the last one."""
    begins = np.flatnonzero(starts[ids])
    if len(begins) == 0 or begins[0] != 0:
        begins = np.concatenate([[0], begins])  # the first token begins a word, marked or not
    return np.append(begins, len(ids))


def ranges(begin: Numbers, end: Numbers) -> Numbers:
    """Return the numbers from `begin` to `end` of every pair, one range after another.

    Example:
        >>> ranges(np.array([3, 7, 0]), np.array([5, 7, 2])).tolist()
        [3, 4, 0, 1]
    """
    lengths = end - begin
    return np.arange(lengths.sum()) + np.repeat(begin - (np.cumsum(lengths) - lengths), lengths)


def pieces(values: Ids, lengths: Numbers) -> list[Ids]:
    """Return an array cut into neighboring pieces of the given lengths."""
    ends = np.cumsum(lengths)
    return [values[a:b] for a, b in zip((ends - lengths).tolist(), ends.tolist(), strict=True)]


@dataclass(frozen=True)
class Words:
    """The words of n texts.

    Args:
        ids: token ids of all texts, one after another.
        edges: where each word begins in `ids`, and the end of the last one (w + 1,).
        first: number of the first word of each text, and of all words (n + 1,).
    """

    ids: Ids
    edges: Numbers
    first: Numbers

    @classmethod
    def of(cls, texts: Sequence[Ids], starts: NDArray[np.bool_]) -> Words:
        """Find the words of texts by which ids of the vocabulary begin one; the first token of a text always does."""
        ids = np.concatenate(texts) if texts else np.zeros(0, dtype=np.int64)
        ends = np.cumsum([0, *map(len, texts)])
        begins = np.append(starts[ids], True)  # one place more: the end of the last word
        begins[ends] = True  # an empty text begins where the next one does
        edges = np.flatnonzero(begins)
        return cls(ids, edges, np.searchsorted(edges, ends))

    @property
    def counts(self) -> Numbers:
        """Return the number of words of each text (n,)."""
        return np.diff(self.first)

    def spans(self, places: Numbers) -> list[Ids]:
        """Return the ids of one span of each text, given by its first word and its end (n, 2)."""
        begin, end = self.edges[self.first[:-1, None] + places].T.tolist()
        return [self.ids[a:b] for a, b in zip(begin, end, strict=True)]

    def chosen(self, words: Numbers, counts: Numbers) -> list[Ids]:
        """Return the ids of some words of each text: their numbers among all words, and how many each text has."""
        begin, end = self.edges[words], self.edges[words + 1]
        lengths = np.bincount(np.repeat(np.arange(len(counts)), counts), weights=end - begin, minlength=len(counts))
        return pieces(self.ids[ranges(begin, end)], lengths.astype(np.int64))
