"""From vectors to ranked lists, and from lists to the places of what is relevant, in bounded memory.

A list is a query's documents by falling score. Where scores tie, the order is that of trec_eval: by id, the highest
first. A file of pairs has no ids; there a document that is not relevant goes first, so that a model that tells nothing
apart finds nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.similarity import unit_rows

DEPTH = 1000
"""Documents of a list that are looked at; what comes later counts as not found."""

MISSED = DEPTH + 1
"""The place of a document that is not found."""

_BLOCK = 1 << 22  # similarities held at once: 16 MB, several times that while the best are found

Hits = tuple[Sequence[str], NDArray[np.floating]]
"""The ids of the documents found for one query, and their scores."""


@dataclass(frozen=True)
class Places:
    """Where the relevant documents of all queries stand in their lists.

    Args:
        ranks: the place of each, the first being 1, or `MISSED` (pairs,).
        owners: the query of each, in order (pairs,).
        gains: how relevant each is, more than 0 (pairs,).
        queries: number of queries, every one with at least one relevant document.
    """

    ranks: NDArray[np.int64] = field(repr=False)
    owners: NDArray[np.int64] = field(repr=False)
    gains: NDArray[np.float64] = field(repr=False)
    queries: int

    def best(self) -> NDArray[np.int64]:
        """Return the first place of a relevant document for each query (queries,)."""
        best = np.full(self.queries, MISSED)
        np.minimum.at(best, self.owners, self.ranks)
        return best


def nearest(
    queries: NDArray[np.floating], documents: Iterable[NDArray[np.floating]], top: int = DEPTH
) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the rows of the documents with the highest cosines for every query (n, k), and the cosines, best first.

    Args:
        queries: vectors (n, d).
        documents: vectors in blocks (m, d), of which none is kept.
        top: documents to find; fewer where there are fewer.
    """
    asked = unit_rows(queries).astype(np.float32)
    rows = np.empty((len(asked), 0), dtype=np.int64)
    scores = np.empty((len(asked), 0), dtype=np.float32)
    seen = 0
    for vectors in documents:
        block = unit_rows(vectors).astype(np.float32)
        numbers = np.arange(seen, seen + len(block))
        step = max(1, _BLOCK // max(1, len(block)))
        kept = []
        for start in range(0, len(asked), step):
            part = slice(start, start + step)
            found = np.concatenate([scores[part], asked[part] @ block.T], axis=1)
            of = np.concatenate([rows[part], np.tile(numbers, (len(asked[part]), 1))], axis=1)
            kept.append(_best(found, of, top))
        scores, rows = (np.concatenate(each) for each in zip(*kept, strict=True))
        seen += len(block)
    order = np.lexsort((rows, -scores), axis=1)
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(scores, order, axis=1)


def _best(
    scores: NDArray[np.float32], rows: NDArray[np.int64], top: int
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the `top` highest scores of every query and their rows, in no order."""
    if scores.shape[1] <= top:
        return scores, rows
    best = np.argpartition(-scores, top - 1, axis=1)[:, :top]
    return np.take_along_axis(scores, best, axis=1), np.take_along_axis(rows, best, axis=1)


def as_hits(rows: NDArray[np.int64], scores: NDArray[np.float32], ids: Sequence[str]) -> Iterator[Hits]:
    """Yield each query's list with the ids of its documents."""
    for found, values in zip(rows.tolist(), scores, strict=True):
        yield [ids[row] for row in found], values


def places_of(
    lists: Iterable[Hits], relevant: Sequence[Mapping[str, float]], *, against_relevant: bool = False
) -> Places:
    """Return where the relevant documents stand in the queries' lists.

    Args:
        lists: one per query.
        relevant: for each query what answers it, with its gain.
        against_relevant: of documents that tie put the relevant ones last, instead of ordering them by id.
    """
    ranks: list[int] = []
    for (ids, scores), wanted in zip(lists, relevant, strict=True):
        ordered = _ordered(ids, scores, wanted if against_relevant else None)
        place = {ids[row]: rank for rank, row in enumerate(ordered[:DEPTH], 1)}
        ranks += [place.get(document, MISSED) for document in wanted]
    owners = np.repeat(np.arange(len(relevant)), [len(wanted) for wanted in relevant])
    gains = np.array([gain for wanted in relevant for gain in wanted.values()], dtype=np.float64)
    return Places(np.array(ranks, dtype=np.int64), owners, gains, len(relevant))


def _ordered(ids: Sequence[str], scores: NDArray[np.floating], last: Mapping[str, float] | None) -> Sequence[int]:
    """Return the rows of a list by falling score, what ties by falling id, or what is in `last` after the others."""
    values = np.asarray(scores)
    if not len(values) or bool((values[:-1] > values[1:]).all()):
        return range(len(values))
    ties = sorted(range(len(ids)), key=lambda row: ids[row], reverse=True)
    if last is not None:
        ties = sorted(range(len(ids)), key=lambda row: ids[row] in last)
    return sorted(ties, key=lambda row: -float(values[row]))  # sorting is stable
