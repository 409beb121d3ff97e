"""One query, asked of words and vectors: candidates of both, scored by both, joined into documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mirrormask.search.asked import Floats, KnownVectors, Passages, Rows, Words
from mirrormask.search.fusion import search_both

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
        allowed: which passages may be found, as the index has it; None: all.
    """

    text: str
    vector: Floats | None
    mode: str
    weight: float | None
    allowed: Any


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


def best_documents(question: Question, passages: Passages, top: int) -> Found:
    """Return the best passage of each of the `top` best documents; fewer where no more meet the question."""
    depth = max(_DEPTH, 5 * top)
    while True:
        found = best_passages(question, passages.vectors, passages.words, depth)
        first = np.sort(np.unique(passages.owners(found.rows), return_index=True)[1])
        whole = depth >= len(passages) or len(found.rows) < depth  # where all are found, looking further finds no other
        if len(first) >= top or whole or len(first) == passages.documents(question.allowed):
            return found.taken(first[:top])
        depth *= 4


def best_passages(question: Question, dense: KnownVectors, words: Words, depth: int) -> Found:
    """Return the best passages, in order: all that one of the parts has among its first `depth`."""
    if question.mode == "words":
        hits = words.first(words.counts(question.text), depth, question.allowed, np.zeros(0, dtype=np.int64))
        return _ordered(hits.rows, hits.scores, hits.scores, np.zeros_like(hits.scores))
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
