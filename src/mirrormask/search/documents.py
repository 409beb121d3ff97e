"""What an index is made of: the documents of files, folders and Python rows, as one stream, and a count of the rest."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError, MirrormaskError, one_of
from mirrormask.core.wording import counted
from mirrormask.data.text.columns import JUDGED_ROWS, choose_column
from mirrormask.data.text.compression import STDIN, check_file, named, open_bytes, split_suffix
from mirrormask.data.text.files import check_columns, records
from mirrormask.data.text.pages import PAGES, page_text

Source = str | Path | Sequence[Path] | Iterable[str] | Iterable[Mapping[str, Any]]

EACH = ("auto", "line", "file")
IDS = ("id", "_id", "doc_id", "docid", "document_id")
"""Columns that hold a document's id, where none is named."""

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
_BINARY = (".pdf", ".docx", ".parquet")  # by their nature
_HEAD = 1 << 13  # bytes by which a file is judged to be text


@dataclass(frozen=True)
class Document:
    """A text with a name.

    Args:
        id: unlike that of any other document of an index.
        text: what is searched; a title comes first.
        metadata: the other columns.
    """

    id: str
    text: str
    metadata: dict[str, Any]


@dataclass
class Reading:
    """How documents are read, and what was left out.

    Args:
        column: that holds the text; by default the one that plainly does.
        id_column: that holds the id; by default one of `IDS`, else file and row are the id.
        each: what a document is in a `.txt` file: a `line`, the whole `file`, or `auto`: a line of a file that was
            named, a file that was found in a folder.
    """

    column: str | None = None
    id_column: str | None = None
    each: str = "auto"
    files: int = 0
    empty: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    repeated: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        one_of("each", self.each, EACH, of="an index")

    def sentences(self) -> list[str]:
        """Return what the user should know about what was read."""
        said = list(dict.fromkeys(self.notes))
        if self.skipped:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.skipped.most_common(6))
            said.append(f"{counted(sum(self.skipped.values()), 'file')} skipped: {kinds}")
        if self.empty:
            said.append(f"{counted(self.empty, 'row')} without text left out")
        if self.repeated:
            first = self.repeated[0]
            said.append(
                f"{counted(len(self.repeated), 'document')} came with an id that was there before, such as {first!r}, "
                f"and nothing is dropped: the second is named {first + '#2'!r}"
            )
        return said


def read_documents(source: Source, reading: Reading) -> Iterator[Document]:
    """Yield the documents of a source; an id that comes again gets a number, so that nothing is lost.

    Args:
        source: a file, a folder, `-` for stdin, or a list of paths; or texts, or rows as dictionaries, in Python.
        reading: how; it counts what is left out.

    Raises:
        DataError: a path leads nowhere, or a file that was named cannot be read.
    """
    seen: Counter[str] = Counter()
    for document in _all(source, reading):
        if not document.text.strip():
            reading.empty += 1
            continue
        seen[document.id] += 1
        if seen[document.id] > 1:
            reading.repeated.append(document.id)
            yield Document(f"{document.id}#{seen[document.id]}", document.text, document.metadata)
        else:
            yield document


def check_sources(paths: Sequence[str | Path]) -> None:
    """Raise a DataError where what a user typed leads to no text: at once, before anything slow is begun."""
    for path in paths:
        if _is_folder(Path(path)):
            if not any(_is_text_name(file) for file in _files(Path(path))):
                raise DataError(
                    f"The folder {path} holds no text: no file ending in {', '.join((*PAGES, *_TABLES))}. "
                    "Give a folder with texts in it."
                )
        else:
            check_file(path)


def _all(source: Source, reading: Reading) -> Iterator[Document]:
    if isinstance(source, (str, Path)):
        yield from _path(Path(source), reading)
    elif isinstance(source, (list, tuple)) and source and all(isinstance(each, Path) for each in source):
        for path in source:
            yield from _path(Path(path), reading)  # type: ignore[arg-type]
    else:
        yield from _given(source, reading)


def _path(path: Path, reading: Reading) -> Iterator[Document]:
    check_sources([path])
    if _is_folder(path):
        for file in _files(path):
            name = str(file.relative_to(path))
            why = _unfit(file)
            if why:
                reading.skipped[why] += 1
                continue
            whole = reading.each != "line"
            yield from _file(file, name, reading, whole=whole)
        return
    kind = split_suffix(path)[0]
    yield from _file(path, named(path), reading, whole=kind in PAGES[1:] or reading.each == "file")


def _file(path: Path, name: str, reading: Reading, *, whole: bool) -> Iterator[Document]:
    reading.files += 1
    kind = split_suffix(path)[0]
    if whole and kind in PAGES and str(path) != STDIN:
        text, title = page_text(path)
        yield Document(name, text, {"file": name, **({"title": title} if title else {})})
        return
    yield from _rows(records(path), name, reading)


def _given(source: Iterable[Any], reading: Reading) -> Iterator[Document]:
    rows: Iterator[Any] = iter(source)
    first = next(rows, None)
    if first is None:
        return
    rows = itertools.chain([first], rows)
    if isinstance(first, Mapping):
        yield from _rows((dict(row) for row in rows), "", reading)
        return
    for number, text in enumerate(rows):
        if not isinstance(text, str):
            raise DataError(f"Row {number} of the given texts is {text!r:.60}. Give texts, or dictionaries.")
        yield Document(str(number), text, {})


def _rows(rows: Iterator[dict[str, Any]], name: str, reading: Reading) -> Iterator[Document]:
    """Yield the rows of a table as documents; a column `title` is put before the text and stays a column."""
    where = name or "the given rows"
    first = list(itertools.islice(rows, JUDGED_ROWS))
    there = list(first[0]) if first else []
    known = [reading.id_column] if reading.id_column else [key for key in IDS if key in there][:1]
    rest = [{key: cell for key, cell in row.items() if key not in (*known, "title")} for row in first]
    if reading.column:
        column = reading.column
        check_columns(where, [column], there)
    else:
        (column,) = choose_column(where, rest if any(rest) else first, reading.notes)
    check_columns(where, known, there)
    for number, row in enumerate(itertools.chain(first, rows), 1):
        text, title = row.get(column), row.get("title") if column != "title" else None
        if text is not None and not isinstance(text, str):
            raise DataError(
                f"The column {column!r} in row {number} of {where} holds no text but {type(text).__name__}. "
                "Choose a column of text with --column."
            )
        own = row.get(known[0]) if known else None
        identity = str(own) if own not in (None, "") else (f"{name}:{number}" if name else str(number - 1))
        metadata = {key: _cell(value) for key, value in row.items() if key not in (column, *known)}
        if isinstance(title, str) and title.strip() and text and not text.startswith(title):
            text = f"{title}\n{text}"
        yield Document(identity, text or "", metadata)


def _cell(value: Any) -> Any:
    """Return a cell as JSON can hold it: numbers, texts, truth, and lists of them; anything else as its text."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        return [each if isinstance(each, (str, bool, int, float)) else str(each) for each in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a folder and its folders in order; hidden ones are passed over."""
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            if not name.startswith("."):
                yield Path(place) / name


def _is_folder(path: Path) -> bool:
    try:
        return str(path) != STDIN and path.is_dir()
    except (OSError, ValueError):  # no path: whoever opens it says so
        return False


def _is_text_name(path: Path) -> bool:
    return split_suffix(path)[0] in (*PAGES, *_TABLES)


def _unfit(path: Path) -> str:
    """Return in a word or two why a file of a folder is passed over, or nothing."""
    kind = split_suffix(path)[0]
    if not _is_text_name(path):
        return f"ending in {kind}" if kind else "without an ending"
    try:
        if not path.is_file():
            return "no files"
        if path.stat().st_size == 0:
            return "empty"
        with open_bytes(path) as stream:
            head = stream.read(_HEAD)
    except (MirrormaskError, OSError, EOFError, ValueError):
        return "damaged"
    if kind in _BINARY:
        return ""
    try:
        head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 4:  # a character may be cut at the end
            return "not text"
    return "not text" if b"\0" in head else ""
