"""The documents of an index on disk: ids, texts, metadata and passages, written in one pass and read piece by piece."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.text.store import ArrayWriter, RaggedReader, RaggedWriter
from mirrormask.search.documents import Document
from mirrormask.search.metadata import Column, ColumnsWriter, column_size, names_in, read_column

Rows = NDArray[np.int64]

_TITLE = 200  # characters of a title that go before a passage

_ARRAYS = {"owners": np.int32, "starts": np.int64, "ends": np.int64, "keys": np.uint64, "contents": np.uint64}


def digest(text: str) -> int:
    """Return 64 bits that stand for a text: two of the same are the same text, as far as anyone will see."""
    data = text.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


class LibraryWriter:
    """Writes documents with their passages, one after another, below a folder that is there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.documents = self.passages = 0
        self._texts, self._ids, self._metadata = (
            RaggedWriter(folder / name, np.uint8) for name in ("texts", "ids", "metadata")
        )
        self._arrays = {name: ArrayWriter(folder / f"{name}.npy", kind) for name, kind in _ARRAYS.items()}
        self._columns = ColumnsWriter()

    def add(self, document: Document, places: list[tuple[int, int]]) -> None:
        """Append a document and where its passages begin and end, in characters."""
        text = document.text.encode("utf-8", "replace")
        self._texts.append(text)
        self._ids.append(document.id.encode("utf-8", "replace"))
        self._metadata.append(json.dumps(document.metadata, ensure_ascii=False).encode("utf-8", "replace"))
        starts, ends = _in_bytes(document.text, len(text), places)
        self._arrays["owners"].extend([self.documents] * len(places))
        self._arrays["starts"].extend(starts)
        self._arrays["ends"].extend(ends)
        self._arrays["keys"].extend(np.array([digest(document.id)], dtype=np.uint64))
        self._arrays["contents"].extend(np.array([content_of(document)], dtype=np.uint64))
        self._columns.add(document.metadata)
        self.documents += 1
        self.passages += len(places)

    def finish(self) -> Library:
        """Put everything into its place and return a reader of it."""
        for writer in (self._texts, self._ids, self._metadata, *self._arrays.values()):
            writer.finish().close()  # type: ignore[attr-defined]
        self._columns.write(self.folder / "columns")
        return Library(self.folder)

    def abandon(self) -> None:
        """Close what is open."""
        for writer in (self._texts, self._ids, self._metadata, *self._arrays.values()):
            writer.abandon()  # type: ignore[attr-defined]


class Library:
    """Documents that were written.

    Args:
        folder: where they are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._texts, self._ids, self._metadata = (RaggedReader(folder / name) for name in ("texts", "ids", "metadata"))
        self.owners, self.starts, self.ends, self.keys, self.contents = (
            np.load(folder / f"{name}.npy", mmap_mode="r") for name in _ARRAYS
        )
        self.columns = names_in(folder / "columns")
        self._columns: dict[str, Column] = {}

    def __len__(self) -> int:
        return len(self._ids)

    def column(self, name: str) -> Column:
        """Return one column of all documents; it is read once, and stays when the files go."""
        if name not in self._columns:
            self._columns[name] = read_column(self.folder / "columns", name)
        return self._columns[name]

    def column_size(self, name: str) -> int:
        """Return the bytes of a column's values on disk."""
        return column_size(self.folder / "columns", name)

    def id(self, number: int) -> str:
        """Return the id of a document."""
        return self._ids[number].tobytes().decode("utf-8")

    def ids(self, numbers: list[int]) -> list[str]:
        """Return the ids of some documents."""
        return [row.tobytes().decode("utf-8") for row in self._ids.take(numbers)]

    def text(self, number: int) -> str:
        """Return the text of a document."""
        return self._texts[number].tobytes().decode("utf-8")

    def metadata(self, number: int) -> dict[str, Any]:
        """Return the other columns of a document."""
        return dict(json.loads(self._metadata[number].tobytes()))

    def passage(self, row: int) -> str:
        """Return the text of a passage."""
        begin = self._texts.offsets[int(self.owners[row])]
        data = self._texts.values.slice(begin + int(self.starts[row]), begin + int(self.ends[row]))
        return data.tobytes().decode("utf-8")

    def titled(self, row: int) -> str:
        """Return a passage as it is searched: after its document's title, where that has one it does not begin with."""
        return titled(self.passage(row), self.metadata(int(self.owners[row])))

    def passages_of(self, number: int) -> Rows:
        """Return the rows of a document's passages."""
        first, last = np.searchsorted(self.owners, [number, number + 1])
        return np.arange(first, last)

    def place(self, row: int) -> tuple[int, int]:
        """Return where a passage begins and ends in its document, in characters."""
        text = self._texts[int(self.owners[row])].tobytes()
        start = len(text[: int(self.starts[row])].decode("utf-8"))
        return start, start + len(self.passage(row))

    def find(self, identity: str, alive: NDArray[np.bool_]) -> int | None:
        """Return the number of the document that has an id, if one does."""
        for number in np.flatnonzero(self.keys == np.uint64(digest(identity))).tolist():
            if alive[number] and self.id(number) == identity:
                return int(number)
        return None

    def each(self, wanted: Callable[[int], bool]) -> Iterator[tuple[Document, list[tuple[int, int]], Rows]]:
        """Yield documents as they were given, with the places and the rows of their passages."""
        for number in filter(wanted, range(len(self))):
            rows = self.passages_of(number)
            text = self._texts[number].tobytes()
            edges = [(int(self.starts[row]), int(self.ends[row])) for row in rows]
            document = Document(self.id(number), text.decode("utf-8"), self.metadata(number))
            yield document, _in_characters(text, edges), rows


def titled(passage: str, metadata: Mapping[str, Any]) -> str:
    """Return a passage as it is searched: after its document's title, where that has one it does not begin with."""
    title = metadata.get("title")
    if not isinstance(title, str) or not title.strip() or title in passage[: 2 * len(title)]:
        return passage
    return f"{title.strip()[:_TITLE]}\n{passage}"


def content_of(document: Document) -> int:
    """Return 64 bits that stand for a document's text and metadata."""
    return digest(document.text + "\0" + json.dumps(document.metadata, ensure_ascii=False, default=str))


def _in_bytes(text: str, size: int, places: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """Return places in characters as places in bytes; passages come in order, and may overlap."""
    if size == len(text):
        return [begin for begin, _ in places], [end for _, end in places]
    known, at, seen = {0: 0}, 0, 0
    for edge in sorted({edge for place in places for edge in place}):
        seen += len(text[at:edge].encode("utf-8", "replace"))
        at = edge
        known[edge] = seen
    return [known[begin] for begin, _ in places], [known[end] for _, end in places]


def _in_characters(text: bytes, places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    known, at, seen = {0: 0}, 0, 0
    for edge in sorted({edge for place in places for edge in place}):
        seen += len(text[at:edge].decode("utf-8"))
        at = edge
        known[edge] = seen
    return [(known[begin], known[end]) for begin, end in places]
