"""An index that can be searched, wherever it is kept: what is asked of it, and how its hits are told."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, MirrormaskWarning, at_least, did_you_mean, one_of
from mirrormask.search.analysis import Analyzer
from mirrormask.search.asked import Passages
from mirrormask.search.documents import Source
from mirrormask.search.hits import Hit, Reranker
from mirrormask.search.querying import MODES, Found, Question, best_documents
from mirrormask.search.text_encoder import TextEncoder

LONGEST = 10_000
"""Characters of a query that are read."""

_RERANKED = 50  # hits that a cross-encoder reads


class SearchIndex(ABC):
    """An index that is opened; `Index` is one in a folder, `PostgresIndex` one in a database.

    Args:
        name: of the index in messages.
        record: what it says of itself.
    """

    def __init__(self, name: str, record: dict[str, Any]) -> None:
        self.name, self.record = name, record

    @abstractmethod
    def reading(self) -> AbstractContextManager[Passages]:
        """Hold the index as it is at one moment."""

    @abstractmethod
    def open_encoder(self) -> TextEncoder:
        """Return the encoder that the index was made with."""

    @abstractmethod
    def changed(self) -> bool:
        """Say whether another writer has changed the index since it was opened."""

    @abstractmethod
    def id_of(self, name: str) -> str | None:
        """Return the id of the document that has this id or, else, this text; None where there is none."""

    @abstractmethod
    def add(
        self, source: Source, *, column: str | None = None, id_column: str | None = None, each: str = "auto"
    ) -> SearchIndex:
        """Add documents, those with an id that is there in place of it, and return the index as it is then."""

    @abstractmethod
    def delete(self, ids: Sequence[str]) -> SearchIndex:
        """Take documents out by their ids and return the index as it is then."""

    @abstractmethod
    def facets(self) -> list[dict[str, Any]]:
        """Return what each column holds, with counts and the conditions that ask for it."""

    @abstractmethod
    def documents(self, most: int, *, seed: int = 42) -> tuple[list[str], list[str], NDArray[np.float32]]:
        """Return the ids, texts and vectors (n, d) of the documents, or of a sample where there are more than `most`.

        A document's vector is the mean of its passages'.
        """

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self.record["counts"]["documents"])

    @property
    def columns(self) -> list[str]:
        """Return the columns that a condition can name."""
        return list(self.record["columns"])

    @cached_property
    def encoder(self) -> TextEncoder:
        """Return the encoder that the index was made with.

        Raises:
            ModelError: it is not there any more, or it is another.
        """
        return self.open_encoder()

    def search(
        self,
        query: str,
        *,
        top: int = 10,
        mode: str = "both",
        where: str | None = None,
        weight: float | None = None,
        rerank: Reranker | None = None,
    ) -> list[Hit]:
        """Return the best documents for a query, best first.

        Args:
            query: what to look for.
            top: how many.
            mode: `both`, `words` or `vectors`.
            where: a condition on metadata, such as `year >= 2020 and lang = "en"`.
            weight: of words beside vectors; None: as the index has it.
            rerank: a cross-encoder that orders the first hits anew.
        """
        return self.search_many([query], top=top, mode=mode, where=where, weight=weight, rerank=rerank)[0]

    def search_many(
        self,
        queries: Sequence[str],
        *,
        top: int = 10,
        mode: str = "both",
        where: str | None = None,
        weight: float | None = None,
        rerank: Reranker | None = None,
        vectors: NDArray[np.float32] | None = None,
    ) -> list[list[Hit]]:
        """Return the best documents of each of several queries, encoded at once.

        Args:
            queries: what to look for.
            top, mode, where, weight, rerank: as for `search`.
            vectors: of the queries (n, d), where `encoder` was asked for them already.
        """
        at_least("top", top, 1, of="a search")
        texts = self._checked(queries)
        asked = self._vectors(texts, mode, weight, vectors)
        answers = []
        with self.reading() as passages:
            allowed = passages.allowed(where)
            for text, vector in zip(texts, asked, strict=True):
                question = Question(text, vector, mode, weight, allowed)
                found = best_documents(question, passages, max(top, _RERANKED) if rerank else top)
                answers.append(self._hits(found, text, passages))
        if rerank is None:
            return answers
        return [rerank.reordered(text, hits)[:top] for text, hits in zip(texts, answers, strict=True)]

    def like(
        self,
        identity: str,
        *,
        top: int = 10,
        mode: str = "both",
        where: str | None = None,
        weight: float | None = None,
    ) -> list[Hit]:
        """Return the documents most like one of the index.

        Raises:
            DataError: there is no such document.
        """
        one_of("mode", mode, MODES, of="a search")
        with self.reading() as passages:
            rows = passages.rows_of(identity)
            if not len(rows):
                near = did_you_mean(identity, passages.some_ids())
                raise DataError(f"{self.name} has no document {identity!r}.{near} Check the id.")
            text = passages.told(rows[:1])[0].passage[:LONGEST]
            allowed = passages.allowed(where, but=rows)
            question = Question(text, passages.mean_vector(rows), mode, weight, allowed)
            found = best_documents(question, passages, at_least("top", top, 1, of="a search"))
            return self._hits(found, text, passages)

    def rank(
        self,
        queries: Sequence[str],
        *,
        top: int = 100,
        mode: str = "both",
        where: str | None = None,
        weight: float | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> list[list[tuple[str, float]]]:
        """Return the ids and scores of the best documents of many queries, best first.

        Args:
            queries: what to look for.
            top: how many for each.
            mode, where, weight: as for `search`.
            progress: called with the number of queries just done.
        """
        at_least("top", top, 1, of="a search")
        texts = self._checked(queries)
        asked = self._vectors(texts, mode, weight)
        ranked = []
        with self.reading() as passages:
            allowed = passages.allowed(where)
            for text, vector in zip(texts, asked, strict=True):
                found = best_documents(Question(text, vector, mode, weight, allowed), passages, top)
                ranked.append(list(zip(passages.ids(found.rows), found.scores.tolist(), strict=True)))
                if progress is not None:
                    progress(1)
        return ranked

    @cached_property
    def _analyzer(self) -> Analyzer:
        return Analyzer(stem=self.record["words"]["stem"])

    def _vectors(
        self, texts: Sequence[str], mode: str, weight: float | None, vectors: NDArray[np.float32] | None = None
    ) -> Sequence[NDArray[np.float32] | None]:
        """Return the vectors of queries, where the mode asks for any."""
        one_of("mode", mode, MODES, of="a search")
        if weight is not None:
            at_least("weight", weight, 0, of="a search")
        if mode == "words":
            return [None] * len(texts)
        return list(self.encoder.queries(texts) if vectors is None else vectors)

    def _checked(self, queries: Sequence[str]) -> list[str]:
        if any(not query.strip() for query in queries):
            raise MirrormaskError("The query is empty. Say what to look for, in quotes.")
        longest = max(map(len, queries), default=0)
        if longest > LONGEST:
            warnings.warn(
                f"A query of {longest:,} characters is more than can be asked: its first {LONGEST:,} are searched.",
                MirrormaskWarning,
                stacklevel=3,
            )
        return [query[:LONGEST] for query in queries]

    def _hits(self, found: Found, query: str, passages: Passages) -> list[Hit]:
        analyzer = self._analyzer
        wanted = set(analyzer.query(query))
        hits = []
        for told, score, by_words, by_vectors in zip(
            passages.told(found.rows), found.scores, found.by_words, found.by_vectors, strict=True
        ):
            parts = {"words": max(0.0, float(by_words)), "vectors": max(0.0, float(by_vectors))}
            whole = sum(parts.values()) or 1.0
            hits.append(
                Hit(
                    id=told.id,
                    score=float(score),
                    passage=told.passage,
                    place=told.place,
                    matches=[(begin, end) for term, begin, end in analyzer.spans(told.passage) if term in wanted],
                    shares={name: part / whole for name, part in parts.items()},
                    metadata=told.metadata,
                )
            )
        return hits
