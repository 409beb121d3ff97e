"""The index of a collection in a database: what an index in a folder can, over PostgreSQL and pgvector."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import generator
from mirrormask.search.beginning import Progress
from mirrormask.search.documents import Reading, Source
from mirrormask.search.facets import facet
from mirrormask.search.library import digest
from mirrormask.search.metadata import column_of
from mirrormask.search.postgres.address import Address, read_address
from mirrormask.search.postgres.connecting import Connections
from mirrormask.search.postgres.index_tables import Tables, read_state
from mirrormask.search.postgres.stored import Stored
from mirrormask.search.postgres.writing import build_tables, delete_rows, shown
from mirrormask.search.searching import SearchIndex
from mirrormask.search.storing import Storing
from mirrormask.search.text_encoder import TextEncoder


class PostgresIndex(SearchIndex):
    """An index in a database, opened for reading; every search sees it as it is then.

    Args:
        address: such as `postgresql://me@localhost/notes?table=letters`.
        model: the encoder, where it is not where it was when the index was made.

    Raises:
        DataError: the database cannot be reached, or holds no such index.
    """

    def __init__(self, address: str | Address, *, model: str | None = None) -> None:
        self.address = read_address(address) if isinstance(address, str) else address
        self._model, self._tables = model, Tables(self.address.table)
        self._connections = Connections(self.address)
        with self._connections.snapshot() as cursor:
            self._state = read_state(cursor, self.address)
        super().__init__(self.address.shown, shown(self._state))

    @classmethod
    def build(
        cls,
        source: Source,
        to: str,
        *,
        model: str = "mini-sentence",
        column: str | None = None,
        id_column: str | None = None,
        each: str = "auto",
        dimensions: int | None = None,
        passage_words: int | None = None,
        query_prompt: str | None = None,
        document_prompt: str | None = None,
        tokens: str | None = None,
        progress: Progress | None = None,
    ) -> PostgresIndex:
        """Make an index of a source, in place of one that may be there.

        Args:
            source: a file, a folder, a list of paths; or texts, or rows as dictionaries.
            to: the address.
            model, column, id_column, each, dimensions, passage_words, query_prompt, document_prompt, tokens, progress:
                as for `Index.build`.
        """
        address = read_address(to)
        build_tables(
            source,
            address,
            Reading(column, id_column, each),
            model=model,
            storing=Storing("fp16", dimensions),
            passage_words=passage_words,
            query_prompt=query_prompt,
            document_prompt=document_prompt,
            tokens=tokens,
            anew=True,
            progress=progress,
        )
        return cls(address)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Stored]:
        """Hold the index as it is now, whatever a writer does meanwhile."""
        with self._connections.snapshot() as cursor:
            version = cursor.execute(f"SELECT version::text FROM {self._tables.index}").fetchone()
            if version is None or version[0] != self._state.version:
                self._state = read_state(cursor, self.address)
            yield Stored(cursor, self._tables, self._state, self._analyzer)

    def open_encoder(self) -> TextEncoder:
        """Return the encoder that the index was made with."""
        return TextEncoder.known(self._state.record["encoder"], self._model, self._state.arrays.get("weights"))

    def changed(self) -> bool:
        """Say whether another writer has changed the index since it was opened."""
        with self._connections.snapshot() as cursor:
            return read_state(cursor, self.address).version != self.record["generation"]

    def id_of(self, name: str) -> str | None:
        """Return the id of the document that has this id or, else, this text; None where there is none."""
        said = int(np.uint64(digest(name.strip())).astype(np.int64))
        sql = f"SELECT id FROM {self._tables.passages} WHERE row = document AND (id = %s OR said = %s)"
        with self._connections.snapshot() as cursor:
            found = [one for (one,) in cursor.execute(sql + " ORDER BY row", (name, said))]
        return name if name in found else (found[-1] if found else None)

    def add(
        self, source: Source, *, column: str | None = None, id_column: str | None = None, each: str = "auto"
    ) -> PostgresIndex:
        """Add documents, those with an id that is there in place of it, and return the index as it is then."""
        build_tables(source, self.address, Reading(column, id_column, each), model=self._model)
        return PostgresIndex(self.address, model=self._model)

    def delete(self, ids: Sequence[str]) -> PostgresIndex:
        """Take documents out by their ids and return the index as it is then."""
        delete_rows(self.address, ids)
        return PostgresIndex(self.address, model=self._model)

    def facets(self) -> list[dict[str, Any]]:
        """Return what each column holds, with counts and the conditions that ask for it."""
        sql = f"SELECT metadata->%s, count(*) FROM {self._tables.passages} WHERE row = document GROUP BY 1"
        found = []
        with self._connections.snapshot() as cursor:
            for name in self.columns:
                rows = cursor.execute(sql, (name,)).fetchall()
                column = column_of([value for value, _ in rows], np.repeat(np.arange(len(rows)), [n for _, n in rows]))
                found.append(facet(name, column, np.ones(len(column.codes), dtype=bool)))
        return found

    def documents(self, most: int, *, seed: int = 42) -> tuple[list[str], list[str], NDArray[np.float32]]:
        """Return the ids, texts and vectors (n, d) of the documents, or of a sample where there are more than `most`.

        A document's vector is the mean of its passages', its text that of its passages one after another.
        """
        with self._connections.snapshot() as cursor:
            sql = f"SELECT row FROM {self._tables.passages} WHERE row = document ORDER BY row"
            numbers = np.array([row for (row,) in cursor.execute(sql)], dtype=np.int64)
            if len(numbers) > most:
                numbers = np.sort(generator(seed, "documents").choice(numbers, most, replace=False))
            sql = (
                "SELECT min(id), array_agg(text ORDER BY row), array_agg(begins ORDER BY row), array_agg(embedding "
                f"ORDER BY row) FROM {self._tables.passages} WHERE document = ANY(%s) GROUP BY document "
                "ORDER BY document"
            )
            found = cursor.execute(sql, (numbers.tolist(),)).fetchall()
        vectors = np.array([np.mean([each.to_numpy() for each in own], axis=0, dtype=np.float32) for *_, own in found])
        return [one for one, *_ in found], [_joined(texts, begins) for _, texts, begins, _ in found], vectors

    def close(self) -> None:
        """Close the connections to the database."""
        self._connections.close()


def _joined(texts: list[str], begins: list[int]) -> str:
    """Return passages of a document as one text; what two of them share comes once."""
    whole = ""
    for text, begin in zip(texts, begins, strict=True):
        at = begin - begins[0]
        whole = whole[:at].ljust(at) + text
    return whole
