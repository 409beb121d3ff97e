"""One query, asked of words and vectors: candidates of both, scored by both, joined into documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.search.bm25 import BM25, highest
from mirrormask.search.dense import Dense
from mirrormask.search.fusion import search_both

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

MODES = ("both", "words", "vectors")
_DEPTH = 100  # passages of each part that are looked at, at least


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        text: for the words.
        vector: for the vectors (d,); None where words alone are asked.
        mode: one of `MODES`.
        weight: of words beside vectors; None: chosen for this query.
        allowed: which passages may be found (n,); None: all.
    """

    text: str
    vector: Floats | None
    mode: str
    weight: float | None
    allowed: Mask | None


@dataclass(frozen=True)
class Found:
    """Passages that were found, best first, and what each part gave to their scores."""

    rows: Rows
    scores: Floats
    by_words: Floats
    by_vectors: Floats

    def taken(self, places: Rows) -> Found:
        """Return some of them."""
        return Found(self.rows[places], self.scores[places], self.by_words[places], self.by_vectors[places])


def best_documents(question: Question, dense: Dense, words: BM25, owners: NDArray[np.int32], top: int) -> Found:
    """Return the best passage of each of the `top` best documents; fewer where no more meet the question."""

    def documents() -> int:
        """Return how many can be found: where all are, looking further finds no other."""
        there = owners if question.allowed is None else owners[question.allowed]
        return int(np.count_nonzero(np.diff(there, prepend=-1)))

    depth = max(_DEPTH, 5 * top)
    while True:
        found = best_passages(question, dense, words, depth)
        first = np.sort(np.unique(owners[found.rows], return_index=True)[1])
        if len(first) >= top or depth >= len(owners) or len(found.rows) < depth or len(first) == documents():
            return found.taken(first[:top])
        depth *= 4


def best_passages(question: Question, dense: Dense, words: BM25, depth: int) -> Found:
    """Return the best passages, in order: all that one of the parts has among its first `depth`."""
    if question.mode == "words":
        everything = words.scores([question.text])[0]
        rows = highest(everything, depth, question.allowed)
        scores = everything[rows]
        return _ordered(rows, scores, scores, np.zeros_like(scores))
    assert question.vector is not None
    if question.mode == "vectors":
        near, nearest = dense.search(question.vector[None], depth, question.allowed)
        scores = near[0][nearest[0] >= 0]
        return _ordered(nearest[0][nearest[0] >= 0], scores, np.zeros_like(scores), scores)
    joined = search_both(
        words,
        dense,
        question.text,
        question.vector,
        depth=depth,
        allowed=question.allowed,
        weight=question.weight,
        concentrated=dense.concentration,
    )
    return _ordered(joined.rows, joined.scores, joined.by_words, joined.by_vectors)


def _ordered(rows: Rows, scores: Floats, by_words: Floats, by_vectors: Floats) -> Found:
    order = np.lexsort((rows, -scores))
    return Found(rows, scores, by_words, by_vectors).taken(order)
