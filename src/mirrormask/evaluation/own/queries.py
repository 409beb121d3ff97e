"""The user's queries and documents: does a query find what belongs to it among all documents?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.similarity import unit_rows
from mirrormask.core.wording import counted
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.resamples import Statistic, mean_of
from mirrormask.evaluation.vectors import TextVectors

CUTOFFS = (1, 5, 10)
_BLOCK = 1 << 24  # similarities held at once: 64 MB, whatever the number of documents


class QueryDocuments(OwnTask):
    """Queries, documents, and which belong together; rows that repeat a text mean the same query or document.

    Args:
        source: the file, for messages.
        queries, documents: row i of both is a query and a document that answers it.
    """

    kind = "retrieval"
    unit = "queries"
    primary = "mrr_at_10_percent"

    def __init__(self, source: str, queries: Sequence[str], documents: Sequence[str]) -> None:
        self.queries = list(dict.fromkeys(queries))
        self.documents = list(dict.fromkeys(documents))
        place = {text: row for row, text in enumerate(self.queries)}, {t: row for row, t in enumerate(self.documents)}
        pairs = dict.fromkeys((place[0][query], place[1][text]) for query, text in zip(queries, documents, strict=True))
        self.relevant = np.array(sorted(pairs), dtype=np.int64)  # (pairs, 2), by query
        super().__init__(source, len(self.queries), self._notes(len(queries)))
        if len(self.documents) < 2:
            raise DataError(
                f"All rows of {source} have the same document, and there is nothing to choose from. Give several."
            )

    def roles(self) -> Mapping[str, Iterable[str]]:
        """Return queries and documents."""
        return {"query": self.queries, "document": self.documents}

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return recall at 1, 5 and 10, MRR@10 and nDCG@10."""
        ranks = relevant_ranks(vectors.of(self.queries, "query"), vectors.of(self.documents, "document"), self.relevant)
        scores = ranking_scores(ranks, self.relevant[:, 0], self.units)
        return {metric: mean_of(values) for metric, values in scores.items()}

    def best_places(self, vectors: TextVectors) -> NDArray[np.int64]:
        """Return the place of each query's first right document (n,), the first being 1."""
        ranks = relevant_ranks(vectors.of(self.queries, "query"), vectors.of(self.documents, "document"), self.relevant)
        return best_ranks(ranks, self.relevant[:, 0], self.units)

    def positives(self, vectors: TextVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return each query and each of its documents."""
        queries = vectors.of(self.queries, "query")[self.relevant[:, 0]]
        return queries, vectors.of(self.documents, "document")[self.relevant[:, 1]]

    def _notes(self, rows: int) -> list[str]:
        notes = [f"{len(self.queries):,} queries among {len(self.documents):,} different documents"]
        if len(self.relevant) < rows:
            notes.append(f"{counted(rows - len(self.relevant), 'row')} with the query and document of another left out")
        if len(self.documents) <= max(CUTOFFS):
            notes.append("recall@10 is 100 whatever the model, since there are no more than 10 documents")
        return notes


def relevant_ranks(
    queries: NDArray[np.floating], documents: NDArray[np.floating], relevant: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the place of each relevant document in its query's list by cosine, the first being 1.

    A document that is just as similar and not relevant goes first: a model that tells nothing apart finds nothing.

    Args:
        queries: vectors (n, d).
        documents: vectors (m, d).
        relevant: rows (query, document), sorted by query (pairs, 2).
    """
    left, right = unit_rows(queries).astype(np.float32), unit_rows(documents).astype(np.float32)
    ranks = np.empty(len(relevant), dtype=np.int64)
    step = max(1, _BLOCK // len(right))
    for start in range(0, len(left), step):
        block = left[start : start + step] @ right.T  # (step, m)
        first, last = np.searchsorted(relevant[:, 0], [start, start + step])
        for begin in range(first, last, step):  # a query may have many documents: no more than a block of rows at once
            end = min(begin + step, last)
            rows, columns = relevant[begin:end].T
            scores = block[rows - start, columns]
            ranks[begin:end] = np.count_nonzero(block[rows - start] >= scores[:, None], axis=1)
        ranks[first:last] = _among_relevant(ranks[first:last], relevant[first:last, 0])
    return ranks


def _among_relevant(ranks: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give relevant documents of one query that share the last place of a tie the places up to it, one each."""
    order = np.lexsort((-ranks, owners))
    same_tie = (np.diff(ranks[order], prepend=-1) == 0) & (np.diff(owners[order], prepend=-1) == 0)
    run = np.arange(len(ranks)) - np.maximum.accumulate(np.where(same_tie, 0, np.arange(len(ranks))))
    places = np.empty_like(ranks)
    places[order] = ranks[order] - run
    return places


def ranking_scores(ranks: NDArray[np.int64], owners: NDArray[np.int64], queries: int) -> dict[str, NDArray[np.float64]]:
    """Return each query's recall at 1, 5 and 10, reciprocal rank and nDCG at 10, from the ranks of what is relevant.

    Args:
        ranks: place of each relevant document, the first being 1 (pairs,).
        owners: the query of each (pairs,).
        queries: number of queries, every one with at least one relevant document.

    Example:
        >>> found = ranking_scores(np.array([2, 11]), np.array([0, 0]), 1)
        >>> {name: round(float(values[0]), 3) for name, values in found.items() if "10" in name}
        {'recall_at_10_percent': 0.5, 'mrr_at_10_percent': 0.5, 'ndcg_at_10_percent': 0.387}
    """
    relevant = np.bincount(owners, minlength=queries)
    found = {
        f"recall_at_{k}_percent": np.bincount(owners, weights=ranks <= k, minlength=queries) / relevant for k in CUTOFFS
    }
    best = best_ranks(ranks, owners, queries)
    found["mrr_at_10_percent"] = np.where(best <= 10, 1.0 / best, 0.0)
    gains = np.where(ranks <= 10, 1.0 / np.log2(1.0 + ranks), 0.0)
    ideal = np.cumsum(1.0 / np.log2(np.arange(2.0, 12.0)))[np.minimum(relevant, 10) - 1]
    found["ndcg_at_10_percent"] = np.bincount(owners, weights=gains, minlength=queries) / ideal
    return found


def best_ranks(ranks: NDArray[np.int64], owners: NDArray[np.int64], queries: int) -> NDArray[np.int64]:
    """Return the first place of a relevant document for each query (queries,)."""
    best = np.full(queries, np.iinfo(np.int64).max)
    np.minimum.at(best, owners, ranks)
    return best
