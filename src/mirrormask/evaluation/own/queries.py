"""The user's queries and documents: does a query find what belongs to it among all documents?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.wording import counted
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.ranked.ranking import Places, as_hits, nearest, places_of
from mirrormask.evaluation.ranked.ranking_measures import ranking_scores
from mirrormask.evaluation.statistics.resamples import Statistic, mean_of
from mirrormask.evaluation.vectors import TextVectors

CUTOFFS = (1, 5, 10)
_DOCUMENTS = 1 << 14  # vectors compared at once


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
        return {metric: mean_of(values) for metric, values in self.scores(vectors).items()}

    def scores(self, vectors: TextVectors) -> dict[str, NDArray[np.float64]]:
        """Return the same of each query (n,), as fractions."""
        return ranking_scores(self._places(vectors), CUTOFFS)

    def among(self, others: Iterable[str]) -> None:
        """Let the documents be looked for among others, which belong to no query."""
        self.documents = list(dict.fromkeys([*self.documents, *others]))

    def best_places(self, vectors: TextVectors) -> NDArray[np.int64]:
        """Return the place of each query's first right document (n,), the first being 1."""
        return self._places(vectors).best()

    def _places(self, vectors: TextVectors) -> Places:
        documents = vectors.of(self.documents, "document")
        blocks = (documents[start : start + _DOCUMENTS] for start in range(0, len(documents), _DOCUMENTS))
        ids = [str(row) for row in range(len(documents))]
        found = as_hits(*nearest(vectors.of(self.queries, "query"), blocks), ids)
        relevant: list[dict[str, float]] = [{} for _ in self.queries]
        for query, document in self.relevant.tolist():
            relevant[query][ids[document]] = 1.0
        return places_of(found, relevant, against_relevant=True)

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
