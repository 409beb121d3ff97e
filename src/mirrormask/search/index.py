"""The index of a collection in a folder: build or open it, ask it, add to it and take out of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.seeding import generator
from mirrormask.search.asked import Passages
from mirrormask.search.beginning import Progress
from mirrormask.search.documents import Reading, Source
from mirrormask.search.facets import facet
from mirrormask.search.generations import stamp
from mirrormask.search.held import Held
from mirrormask.search.indexing import Opened, build_index, delete_documents
from mirrormask.search.library import digest
from mirrormask.search.searching import SearchIndex
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder

_LONG_COLUMN = 4_000_000  # bytes of values, from which a column is texts or ids and no choice


class Index(SearchIndex):
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
        self._stamp = stamp(self.folder)
        try:
            opened = Opened(self.folder)
        except (DataError, FileNotFoundError):
            opened = Opened(self.folder)  # the generation may have changed between two looks
        self._model = model
        self._opened, self._library, self._dense = opened, opened.library, opened.dense
        self._passages = Held(opened)
        super().__init__(str(folder), {**opened.manifest, "files": len(opened.manifest["files"])})

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

    def reading(self) -> AbstractContextManager[Passages]:
        """Hold the index as it was when it was opened."""
        return nullcontext(self._passages)

    def open_encoder(self) -> TextEncoder:
        """Return the encoder that the index was made with."""
        return TextEncoder.known(self._opened.manifest["encoder"], self._model, self._opened.weights)

    def changed(self) -> bool:
        """Say whether another generation has taken the place of the one that is open."""
        return stamp(self.folder) != self._stamp

    def id_of(self, name: str) -> str | None:
        """Return the id of the document that has this id or, else, this text; None where there is none."""
        if self._library.find(name, ~self._opened.dead) is not None:
            return name
        number = self._by_text.get(digest(name.strip()))
        return None if number is None else self._library.id(number)

    def facets(self) -> list[dict[str, Any]]:
        """Return what each column holds, with counts and the conditions that ask for it; of a long one its name."""
        return [
            {"name": name, "numeric": False, "different": None, "values": []}
            if self._library.column_size(name) > _LONG_COLUMN
            else facet(name, self._library.column(name), ~self._opened.dead)
            for name in self.columns
        ]

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
        vectors = (sums / np.array([len(each) for each in rows])[:, None]).astype(np.float32)
        return self._library.ids(numbers.tolist()), [self._library.text(each) for each in numbers.tolist()], vectors

    @cached_property
    def _by_text(self) -> dict[int, int]:
        alive = np.flatnonzero(~self._opened.dead).tolist()
        return {digest(self._library.text(number).strip()): number for number in alive}
