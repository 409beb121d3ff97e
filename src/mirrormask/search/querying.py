"""One query, asked of words and vectors: candidates of both, scored by both, joined into documents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.search.bm25 import BM25
from mirrormask.search.dense import Dense

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

MODES = ("both", "words", "vectors")
WEIGHT = 0.3
_DEPTH = 100  # passages of each part that are looked at, at least


@dataclass(frozen=True)
class Question:
    """What is asked.

    Args:
        text: for the words.
        vector: for the vectors (d,); None where words alone are asked.
        mode: one of `MODES`.
        weight: of words beside vectors; None: what serves most collections.
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
    depth = max(_DEPTH, 5 * top)
    while True:
        found = best_passages(question, dense, words, depth)
        first = np.sort(np.unique(owners[found.rows], return_index=True)[1])
        if len(first) >= top or depth >= len(owners) or len(found.rows) < depth:
            return found.taken(first[:top])
        depth *= 4


def best_passages(question: Question, dense: Dense, words: BM25, depth: int) -> Found:
    """Return the best passages, in order: all that one of the parts has among its first `depth`."""
    scores = words.scores([question.text])[0] if question.mode != "vectors" else None
    if scores is not None and question.allowed is not None:
        scores = np.where(question.allowed, scores, 0)
    by_words = _first(scores, depth) if scores is not None else np.zeros(0, dtype=np.int64)
    if question.mode == "words":
        assert scores is not None
        return _ordered(by_words, scores[by_words], scores[by_words], np.zeros(len(by_words), dtype=np.float32))
    assert question.vector is not None
    near, nearest = dense.search(question.vector[None], depth, question.allowed)
    by_vectors = nearest[0][nearest[0] >= 0]
    if scores is None:
        own = near[0][nearest[0] >= 0]
        return _ordered(by_vectors, own, np.zeros(len(own), dtype=np.float32), own)
    rows = np.union1d(by_words, by_vectors)
    mean, deviation = dense.moments(question.vector[None])
    vector_parts = (dense.scores(question.vector, rows) - mean[0]) / deviation[0]
    weight = WEIGHT if question.weight is None else question.weight
    word_parts = weight * (scores[rows] - scores.mean()) / max(float(scores.std()), 1e-6)
    return _ordered(rows, vector_parts + word_parts, word_parts, vector_parts)


def _first(scores: Floats, depth: int) -> Rows:
    """Return the rows of the highest scores above 0."""
    rows = np.flatnonzero(scores)
    if len(rows) <= depth:
        return rows
    return rows[np.argpartition(scores[rows], -depth)[-depth:]]


def _ordered(rows: Rows, scores: Floats, by_words: Floats, by_vectors: Floats) -> Found:
    order = np.lexsort((rows, -scores))
    return Found(rows, scores, by_words, by_vectors).taken(order)
