"""The index of a collection: build or open it, ask it, add to it and take out of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, MirrormaskWarning, at_least, did_you_mean, one_of
from mirrormask.core.seeding import generator
from mirrormask.search.documents import Reading, Source
from mirrormask.search.facets import facet
from mirrormask.search.filters import parse, unknown_column
from mirrormask.search.hits import Hit, Reranker
from mirrormask.search.indexing import Opened, Progress, build_index, delete_documents
from mirrormask.search.library import digest
from mirrormask.search.metadata import Column
from mirrormask.search.querying import MODES, Found, Question, best_documents
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder

LONGEST = 10_000
"""Characters of a query that are read."""

_RERANKED = 50  # hits that a cross-encoder reads


class Index:
    """An index on disk, opened for reading: as it is now, whatever a writer does meanwhile.

    Args:
        folder: where it is.
        model: the encoder, where it is not where it was when the index was made.

    Raises:
        DataError: there is no index, or only a part of one, or one of a newer version.

    Example:
        >>> index = Index.build(["tea is hot", "ice is cold"], "my-index")  # doctest: +SKIP
        >>> index.search("a hot drink")[0].passage  # doctest: +SKIP
        'tea is hot'
    """

    def __init__(self, folder: Path | str, *, model: str | None = None) -> None:
        self.folder = Path(folder)
        try:
            opened = Opened(self.folder)
        except (DataError, FileNotFoundError):
            opened = Opened(self.folder)  # the generation may have changed between two looks
        self._model = model
        self._opened, self._library, self._dense = opened, opened.library, opened.dense
        self._words = opened.words
        self.record: dict[str, Any] = {**opened.manifest, "files": len(opened.manifest["files"])}

    @classmethod
    def build(
        cls,
        source: Source,
        out: Path | str,
        *,
        model: str = "mini-sentence",
        column: str | None = None,
        id_column: str | None = None,
        each: str = "auto",
        vectors: str = "fp16",
        dimensions: int | None = None,
        passage_words: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        tokens: str | None = None,
        progress: Progress | None = None,
    ) -> Index:
        """Make an index of a source, in place of one that may be there.

        Args:
            source: a file, a folder, a list of paths; or texts, or rows as dictionaries.
            out: the folder of the index.
            model: encoder by name or folder.
            column: that holds the text; by default the one that plainly does.
            id_column: that holds the id; by default `id` or the like, else file and row.
            each: what a document is in a `.txt` file: a `line`, the whole `file`, or `auto`.
            vectors: how they are kept: `fp16`, `fp32`, `int8` or `binary`.
            dimensions: numbers kept of each vector; None: all.
            passage_words: of a passage at most; None: as many as the encoder reads, up to 256 tokens.
            query_prompt, document_prompt: put before texts; None: as the encoder's files or its family say.
            tokens: how much they count in a vector: `idf`, rare ones more, or `equal`; None: `idf` where the encoder
                averages its tokens and wants no prompts.
            progress: called with a stage, how much of it was just done, and how much it is.
        """
        build_index(
            source,
            Path(out),
            Reading(column, id_column, each),
            model=model,
            storing=Storing(vectors, dimensions),
            passage_words=passage_words,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
            tokens=tokens,
            anew=True,
            progress=progress,
        )
        return cls(out)

    @classmethod
    def open(cls, folder: Path | str, *, model: str | None = None) -> Index:
        """Open an index; `model` says where its encoder is, if it was moved."""
        return cls(folder, model=model)

    def add(
        self, source: Source, *, column: str | None = None, id_column: str | None = None, each: str = "auto"
    ) -> Index:
        """Add documents, those with an id that is there in place of it, and return the index as it is then."""
        build_index(source, self.folder, Reading(column, id_column, each), model=self._model)
        return Index(self.folder, model=self._model)

    def delete(self, ids: Sequence[str]) -> Index:
        """Take documents out by their ids and return the index as it is then."""
        delete_documents(self.folder, ids)
        return Index(self.folder, model=self._model)

    def __len__(self) -> int:
        """Return the number of documents."""
        return int(self.record["counts"]["documents"])

    @property
    def columns(self) -> list[str]:
        """Return the columns that a condition can name."""
        return self._library.columns

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
        answers = []
        for text, question in zip(texts, self._questions(texts, mode, where, weight, vectors), strict=True):
            hits = self._hits(self._best(question, max(top, _RERANKED) if rerank else top), text)
            answers.append(rerank.reordered(text, hits)[:top] if rerank else hits)
        return answers

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
        number = self._library.find(identity, ~self._opened.dead)
        if number is None:
            some = self._library.ids(list(range(min(len(self._library), 5000))))
            raise DataError(f"{self.folder} has no document {identity!r}.{did_you_mean(identity, some)} Check the id.")
        rows = self._library.passages_of(number)
        allowed = self._allowed(where)
        allowed = np.ones(len(self._library.owners), dtype=bool) if allowed is None else allowed
        allowed[rows] = False
        text = self._library.passage(int(rows[0]))[:LONGEST]
        vector = self._dense.vectors(rows).mean(0)
        one_of("mode", mode, MODES, of="a search")
        question = Question(text, vector, mode, weight, allowed)
        return self._hits(self._best(question, at_least("top", top, 1, of="a search")), text)

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
        ranked = []
        for question in self._questions(self._checked(queries), mode, where, weight):
            found = self._best(question, at_least("top", top, 1, of="a search"))
            ids = self._library.ids(self._library.owners[found.rows].tolist())
            ranked.append(list(zip(ids, found.scores.tolist(), strict=True)))
            if progress is not None:
                progress(1)
        return ranked

    def id_of(self, name: str) -> str | None:
        """Return the id of the document that has this id or, else, this text; None where there is none."""
        if self._library.find(name, ~self._opened.dead) is not None:
            return name
        number = self._by_text.get(digest(name.strip()))
        return None if number is None else self._library.id(number)

    @cached_property
    def encoder(self) -> TextEncoder:
        """Return the encoder that the index was made with.

        Raises:
            ModelError: it is not there any more, or it is another.
        """
        return TextEncoder.known(self._opened.manifest["encoder"], self._model, self._opened.weights)

    def facets(self) -> list[dict[str, Any]]:
        """Return what each column holds, with counts and the conditions that ask for it."""
        return [facet(name, self._library.column(name), ~self._opened.dead) for name in self.columns]

    def documents(self, most: int, *, seed: int = 42) -> tuple[list[str], list[str], NDArray[np.float32]]:
        """Return the ids, texts and vectors (n, d) of the documents, or of a sample where there are more than `most`.

        A document's vector is the mean of its passages'.
        """
        numbers = np.flatnonzero(~self._opened.dead)
        if len(numbers) > most:
            numbers = np.sort(generator(seed, "documents").choice(numbers, most, replace=False))
        rows = [self._library.passages_of(number) for number in numbers.tolist()]
        starts = np.cumsum([0, *[len(each) for each in rows[:-1]]])
        sums = np.add.reduceat(self._dense.vectors(np.concatenate(rows)), starts, axis=0)
        vectors = sums / np.array([len(each) for each in rows], dtype=np.float32)[:, None]
        return self._library.ids(numbers.tolist()), [self._library.text(each) for each in numbers.tolist()], vectors

    @cached_property
    def _by_text(self) -> dict[int, int]:
        alive = np.flatnonzero(~self._opened.dead).tolist()
        return {digest(self._library.text(number).strip()): number for number in alive}

    def _questions(
        self,
        texts: Sequence[str],
        mode: str,
        where: str | None,
        weight: float | None,
        vectors: Sequence[NDArray[np.float32] | None] | NDArray[np.float32] | None = None,
    ) -> list[Question]:
        one_of("mode", mode, MODES, of="a search")
        if weight is not None:
            at_least("weight", weight, 0, of="a search")
        allowed = self._allowed(where)
        if mode == "words":
            vectors = [None] * len(texts)
        elif vectors is None:
            vectors = self.encoder.queries(texts)
        return [Question(text, vector, mode, weight, allowed) for text, vector in zip(texts, vectors, strict=True)]

    def _best(self, question: Question, top: int) -> Found:
        return best_documents(question, self._dense, self._words, self._library.owners, top)

    def _allowed(self, where: str | None) -> NDArray[np.bool_] | None:
        """Return which passages may be found: those of documents that are not deleted and meet the condition."""
        documents = None if not self._opened.dead.any() else ~self._opened.dead
        if where is not None:
            met = parse(where).of(self._column)
            documents = met if documents is None else met & documents
        return None if documents is None else documents[self._library.owners]

    def _column(self, name: str) -> Column:
        if name not in self.columns:
            raise unknown_column(name, self.columns)
        return self._library.column(name)

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

    def _hits(self, found: Found, query: str) -> list[Hit]:
        analyzer = self._opened.analyzer
        wanted = set(analyzer.query(query))
        hits = []
        for row, score, by_words, by_vectors in zip(
            found.rows.tolist(), found.scores, found.by_words, found.by_vectors, strict=True
        ):
            number = int(self._library.owners[row])
            passage = self._library.passage(row)
            parts = {"words": max(0.0, float(by_words)), "vectors": max(0.0, float(by_vectors))}
            whole = sum(parts.values()) or 1.0
            hits.append(
                Hit(
                    id=self._library.id(number),
                    score=float(score),
                    passage=passage,
                    place=self._library.place(row),
                    matches=[(begin, end) for term, begin, end in analyzer.spans(passage) if term in wanted],
                    shares={name: part / whole for name, part in parts.items()},
                    metadata=self._library.metadata(number),
                )
            )
        return hits
