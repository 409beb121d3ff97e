"""Documents into the tables of an index: looked up, encoded, copied and merged, a batch in one transaction.

A kill between two batches leaves every document whole, the old one or the new one, and the same command again passes
over those that are there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from mirrormask.search.analysis import Analyzer
from mirrormask.search.beginning import Progress
from mirrormask.search.documents import Document
from mirrormask.search.library import content_of, digest, titled
from mirrormask.search.postgres.conditions import numbers_of
from mirrormask.search.postgres.index_tables import State, Tables
from mirrormask.search.text_encoder import TextEncoder

_PASSAGES = 1024  # of a batch, about
_LOOKED_UP = 500  # documents at a time
_MOST_PLACES = 255  # of a term that a tsvector keeps, and the last of them
_LAST_PLACE = 16_383
_COLUMNS = "row, document, id, begins, ends, text, metadata, numbers, content, said, length, words, embedding"
_TYPES = ["int8", "int8", "text", "int4", "int4", "text", "jsonb", "jsonb", "int8", "int8", "int4", "text", "halfvec"]

POSTINGS = """
INSERT INTO {words} SELECT term, %(part)s, count(*), array_agg(own.row ORDER BY own.row),
    array_agg(cardinality(places) ORDER BY own.row), array_agg(own.length ORDER BY own.row)
FROM {passages} AS own, unnest(own.words) AS held(term, places, weights)
WHERE own.row BETWEEN %(part)s AND %(last)s GROUP BY term
"""
"""Counts the words of a part of the rows."""

PART = "INSERT INTO {parts} SELECT %(part)s, %(last)s, count(*), COALESCE(sum(length), 0) FROM {passages} " + (
    "WHERE row BETWEEN %(part)s AND %(last)s"
)

Placed = tuple[Document, list[tuple[int, int]]]


class Batches:
    """Writes documents into the tables of an index.

    Args:
        cursor: of a connection that holds the index for writing.
        tables: of the index.
        state: of the index; it is followed.
        encoder: of the passages; None where nothing is added.
        report: told of every stage.
    """

    def __init__(
        self, cursor: Any, tables: Tables, state: State, encoder: TextEncoder | None, report: Progress
    ) -> None:
        self.cursor, self.tables, self.state, self.report = cursor, tables, state, report
        self._encoder, self._analyzer = encoder, Analyzer(stem=state.record["words"]["stem"])
        self._next = cursor.execute(f"SELECT COALESCE(max(last), -1) + 1 FROM {tables.parts}").fetchone()[0]
        self._unfinished = state.record["counts"]["documents"] if tables.name.endswith("_next") else 0
        self._seen: set[int] = set()
        self.added = self.replaced = self.unchanged = self.resumed = 0

    def put(self, documents: Iterable[Placed]) -> None:
        """Write documents with the places of their passages; those that are there unchanged are passed over."""
        looked_up: list[Placed] = []
        changed: list[Placed] = []
        old: list[str] = []
        passages = 0

        def look_up() -> None:
            nonlocal passages
            for placed, known in self._changed(looked_up):
                changed.append(placed)
                old.extend([placed[0].id] * known)
                passages += len(placed[1])
            looked_up.clear()

        for placed in documents:
            self.report("reading", 1, None)
            looked_up.append(placed)
            if len(looked_up) >= _LOOKED_UP:
                look_up()
            while passages >= _PASSAGES or (passages and len(changed) >= _PASSAGES):
                passages -= self._write(changed, old)
        look_up()
        while changed:
            passages -= self._write(changed, old)

    def remove(self, ids: list[str]) -> None:
        """Take documents out."""
        with self.cursor.connection.transaction():
            self._settle_counts(-len(ids), -self._delete(ids))

    def remove_others(self) -> None:
        """Take out what a build that was stopped had written and the source does not hold any more."""
        if self._unfinished:
            sql = f"SELECT id FROM {self.tables.passages} WHERE row = document"
            others = [one for (one,) in self.cursor.execute(sql).fetchall() if digest(one) not in self._seen]
            if others:
                self.remove(others)

    def _changed(self, some: list[Placed]) -> Iterable[tuple[Placed, bool]]:
        """Yield the documents that are new or say something else than before, and whether they are there."""
        ids = [_clean(document.id) for document, _ in some]
        sql = f"SELECT id, content FROM {self.tables.passages} WHERE id = ANY(%s) AND row = document"
        known = dict(self.cursor.execute(sql, (ids,)).fetchall())
        for identity, (document, places) in zip(ids, some, strict=True):
            clean = Document(identity, _clean(document.text), _clean_cells(document.metadata))
            if self._unfinished:
                self._seen.add(digest(identity))
            if identity not in known:
                self.added += 1
                yield (clean, places), False
            elif known[identity] != _signed(content_of(clean)):
                self.replaced += 1
                yield (clean, places), True
            elif self._unfinished:
                self.resumed += 1
            else:
                self.unchanged += 1

    def _write(self, changed: list[Placed], old: list[str]) -> int:
        """Write the first documents, as many as make a batch, and return how many passages they have."""
        batch: list[Placed] = []
        many = 0
        while changed and many < _PASSAGES:
            batch.append(changed.pop(0))
            many += len(batch[-1][1])
        ids = {document.id for document, _ in batch}
        replaced = [one for one in old if one in ids]
        old[:] = [one for one in old if one not in ids]
        rows = self._rows(batch)
        tables, cursor = self.tables, self.cursor
        names = {"passages": tables.passages, "words": tables.words, "parts": tables.parts}
        with cursor.connection.transaction():
            gone = self._delete(replaced) if replaced else 0
            cursor.connection.execute(
                f"CREATE TEMPORARY TABLE incoming (LIKE {tables.passages}) ON COMMIT DROP;"
                "ALTER TABLE incoming ALTER words TYPE text"
            )
            with cursor.copy(f"COPY incoming ({_COLUMNS}) FROM STDIN (FORMAT BINARY)") as copy:
                copy.set_types(_TYPES)
                for row in rows:
                    copy.write_row(row)
            merged = _COLUMNS.replace("words", "words::tsvector")
            cursor.execute(f"INSERT INTO {tables.passages} ({_COLUMNS}) SELECT {merged} FROM incoming ORDER BY row")
            part = {"part": self._next, "last": self._next + len(rows) - 1}
            cursor.execute(POSTINGS.format(**names), part)
            cursor.execute(PART.format(**names), part)
            self._columns(batch)
            self._settle_counts(len(batch) - len(replaced), len(rows) - gone)
        self._next += len(rows)
        return many

    def _rows(self, batch: list[Placed]) -> list[tuple[Any, ...]]:
        """Encode the passages of documents and return what the table holds of them."""
        from pgvector import HalfVector

        assert self._encoder is not None
        passages = [(document, begin, end) for document, places in batch for begin, end in places]
        texts = [titled(document.text[begin:end], document.metadata) for document, begin, end in passages]
        vectors = self._kept(self._encoder.documents(texts, lambda done: self.report("encoding", done, None)))
        rows: list[tuple[Any, ...]] = []
        first: dict[str, int] = {}
        told: dict[str, tuple[Any, ...]] = {}
        for number, ((document, begin, end), text, vector) in enumerate(zip(passages, texts, vectors, strict=True)):
            one = document.id
            if one not in told:
                first[one] = self._next + number
                facts = (document.metadata, numbers_of(document.metadata))
                told[one] = (*facts, _signed(content_of(document)), _signed(digest(document.text.strip())))
            terms = self._analyzer.terms(text)
            place = (self._next + number, first[one], one, begin, end, document.text[begin:end])
            rows.append((*place, *told[one], len(terms), as_tsvector(terms), HalfVector(vector)))
        return rows

    def _kept(self, vectors: Any) -> Any:
        """Return vectors as they are kept; the first ones of an index choose the directions that are."""
        storing = self.state.storing
        if storing.dimensions is not None and storing.dimensions < vectors.shape[1] and storing.directions is None:
            fitted = storing.fit(vectors)
            assert fitted.directions is not None
            self.state.arrays["directions"] = fitted.directions
            self.state.record["vectors"]["loss"] = fitted.loss(vectors)
            self.state.write(self.cursor, self.tables, arrays=True)
            storing = fitted
        return storing.shortened(vectors)

    def _columns(self, batch: list[Placed]) -> None:
        names = {name: None for document, _ in batch for name in document.metadata}
        known = self.state.record["columns"]
        known.extend(name for name in names if name not in known)

    def _delete(self, ids: list[str]) -> int:
        self.cursor.execute(f"DELETE FROM {self.tables.passages} WHERE id = ANY(%s)", (ids,))
        return int(self.cursor.rowcount)

    def _settle_counts(self, documents: int, passages: int) -> None:
        counts = self.state.record["counts"]
        counts["documents"] += documents
        counts["passages"] += passages
        self.state.record["settled"] = False
        self.state.write(self.cursor, self.tables)


def as_tsvector(terms: list[str]) -> str:
    """Return terms with their places as PostgreSQL reads them.

    Example:
        >>> as_tsvector(["it's", "a", "a"])
        "'it''s':1 'a':2,3"
    """
    places: dict[str, list[int]] = {}
    for place, term in enumerate(terms, 1):
        places.setdefault(term, []).append(place)
    return " ".join(
        "'" + _clean(term).replace("\\", "\\\\").replace("'", "''") + "':" + ",".join(map(str, _fitting(own)))
        for term, own in places.items()
    )


def _fitting(places: list[int]) -> list[int]:
    """Return places as far as a tsvector holds them: so many of them, and none too far back."""
    many = min(len(places), _MOST_PLACES)
    if places[many - 1] <= _LAST_PLACE:
        return places[:many]
    return list(range(_LAST_PLACE - many + 1, _LAST_PLACE + 1))


def _clean(text: str) -> str:
    """Return a text as PostgreSQL can hold it, as many characters long: no zeros, no halves of a pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _clean_cells(metadata: dict[str, Any]) -> dict[str, Any]:
    return {_clean(name): _cell(value) for name, value in metadata.items()}


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return [_cell(each) for each in value] if isinstance(value, list) else value


def _signed(number: int) -> int:
    return int(np.uint64(number).astype(np.int64))
