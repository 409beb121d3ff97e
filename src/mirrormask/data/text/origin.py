"""What a corpus is made from: files, stdin, a corpus or dataset by name, or texts in Python, as one stream of rows."""

from __future__ import annotations

import contextlib
import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.text.columns import JUDGED_ROWS, LABEL_COLUMNS, choose_column, warn_of_numbers
from mirrormask.data.text.compression import STDIN, check_file, named, split_suffix
from mirrormask.data.text.files import check_columns, records

Source = str | Path | Sequence[str | Path] | Iterable[str] | Iterable[tuple[str, ...]]
Cells = tuple[str, ...]
Conditions = dict[str, set[str]]
"""For some columns, the values that rows must have there."""

FORMATS = {".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet"}
"""Endings of files that hold rows of text."""

_JUDGED_SIZE = 1 << 20  # characters
_DATASET = re.compile(r"([\w.-]+/[\w./-]+?)(?::([\w.\[\]%:-]+))?")


@dataclass(frozen=True)
class Origin:
    """A source that was found, ready to be read once.

    Args:
        name: what messages call it.
        stamp: path, size and time of change of every file, to see whether they are still the same; None where
            that cannot be told.
        rows: opens the stream: one tuple of texts a row, and None where one file ends and the next begins.
        notes: what the user should know about the columns, filled while the rows are read.
    """

    name: str
    stamp: list[list[Any]] | None
    rows: Callable[[], Iterator[Cells | None]]
    notes: list[str] = field(default_factory=list)


def find_origin(source: Source, columns: Sequence[str] | None = None, where: Sequence[str] = ()) -> Origin:
    """Find what `source` means.

    Args:
        source: a file or several; `-` for stdin; the name of a corpus under the MIRRORMASK_DATA folders; a dataset as
            `owner/name` or `owner/name:split` (split `train` if not said); or texts, or tuples of them, in Python.
            A list of paths is read file after file; a list of strings is texts, never names.
        columns: the columns to read, in this order; None takes the only one there is, or `text`, or `sentence`, or
            the one whose texts are plainly longer than all others'.
        where: read only rows with such values, each given as `column=value` or `column=value,value`.

    Raises:
        DataError: there is no such file, name or column.
    """
    chosen = None if columns is None else list(columns)
    notes: list[str] = []
    asked = _conditions(where)
    if isinstance(source, (str, Path)):
        return _named_origin(source, chosen, notes, asked)
    if isinstance(source, (list, tuple)) and source and all(isinstance(item, Path) for item in source):
        return _joined([_named_origin(str(item), chosen, notes, asked) for item in source])
    if asked:
        raise DataError(
            "The key 'where' takes a file or a dataset with columns. Leave out rows of given texts yourself."
        )
    return Origin("the given texts", None, lambda: _given(source))


def check_names(names: Sequence[str]) -> None:
    """Raise a DataError where what a user typed leads to no text: at once, before anything slow is begun."""
    find_origin(names[0] if len(names) == 1 else [Path(name) for name in names])


def paths_in(source: Any) -> list[Path]:
    """Return the paths that a source names; texts name none."""
    if isinstance(source, (str, Path)):
        return [Path(source)]
    return [item for item in source if isinstance(item, Path)] if isinstance(source, (list, tuple)) else []


def _joined(origins: list[Origin]) -> Origin:
    if len(origins) == 1:
        return origins[0]
    stamps = [origin.stamp for origin in origins]
    known = [each for stamp in stamps if stamp is not None for each in stamp]
    return Origin(
        f"{len(origins)} sources ({origins[0].name} …)",
        known if all(stamp is not None for stamp in stamps) else None,
        lambda: itertools.chain.from_iterable(origin.rows() for origin in origins),
        origins[0].notes,
    )


def _exists(name: str) -> bool:
    """Say whether there is such a file; a text that is too long for a path is none."""
    try:
        return Path(name).exists()
    except OSError:
        return False


def _has_ending(name: str) -> bool:
    kind, compression = split_suffix(name)
    return kind in FORMATS or bool(compression)


def _conditions(where: Sequence[str]) -> Conditions:
    found: Conditions = {}
    for each in where:
        column, equals, values = each.partition("=")
        if not equals or not column.strip() or not values.strip():
            raise DataError(f"A condition is column=value, such as label=entailment. Got {each!r}.")
        found.setdefault(column.strip(), set()).update(value.strip() for value in values.split(","))
    return found


def _meeting(rows: Iterator[dict[str, Any]], where: Conditions, name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows whose columns hold one of the values asked for."""
    met = False
    for row in rows:
        check_columns(name, where, list(row))
        if all(str(row[column]) in values for column, values in where.items()):
            met = True
            yield row
    if not met:
        asked = " and ".join(f"{column} = {' or '.join(sorted(values))}" for column, values in where.items())
        raise DataError(f"{name} has no row with {asked}. Ask for values that it has.")


def _named_origin(source: str | Path, columns: list[str] | None, notes: list[str], where: Conditions) -> Origin:
    if str(source) == STDIN or isinstance(source, Path) or _exists(source):
        return _file_origin([Path(source)], columns, notes, where)
    from mirrormask.data.text import sources

    found = sources.find_corpus(source)
    if found is not None:
        return _file_origin([found], columns, notes, where)
    dataset = _DATASET.fullmatch(source)
    if _has_ending(source):
        check_file(source)  # not there: raises, and offers the nearest name
    if dataset is None:
        raise DataError(
            f"There is no file and no corpus {source!r}. Give the path of a text file, a corpus under a folder of "
            "MIRRORMASK_DATA, a dataset such as 'owner/name', or - to read from stdin."
        )
    name, split = dataset[1], dataset[2] or "train"
    local = sources.find_split(name, split)
    if local is not None:
        return _file_origin([local], columns, notes, where)
    label = f"{name}:{split}"
    return Origin(label, None, lambda: _cells(sources.load_rows(name, split), columns, label, notes, where), notes)


def _file_origin(paths: list[Path], columns: list[str] | None, notes: list[str], where: Conditions) -> Origin:
    for path in paths:
        check_file(path)
    name = named(paths[0]) if len(paths) == 1 else f"{len(paths)} files ({paths[0]} …)"
    stamp = None
    if all(path.is_file() for path in paths):
        stamp = [[str(path.resolve()), path.stat().st_size, path.stat().st_mtime_ns] for path in paths]
    return Origin(name, stamp, lambda: _all_files(paths, columns, notes, where), notes)


def _all_files(
    paths: list[Path], columns: list[str] | None, notes: list[str], where: Conditions
) -> Iterator[Cells | None]:
    read = None if columns is None else list(dict.fromkeys([*columns, *where]))
    for path in paths:
        with contextlib.closing(records(path, read)) as rows:  # type: ignore[type-var]
            yield from _cells(rows, columns, named(path), notes, where)
        yield None


def every_text(path: Path | str, column: str | None, notes: list[str]) -> Iterator[str]:
    """Yield the text of every row of a file, an empty one too, where each row must keep its place.

    Args:
        path: a file, or `-` for stdin.
        column: the column to read; None chooses as `find_origin` does.
        notes: takes what the user should know about the columns.

    Raises:
        DataError: a row has no text at all: null, or a number.
    """
    columns = [column] if column else None
    with contextlib.closing(records(path, columns)) as rows:  # type: ignore[type-var]
        for cells in _cells(rows, columns, named(path), notes, {}, empty=False):
            yield cells[0]


def _cells(
    rows: Iterator[dict[str, Any]],
    columns: list[str] | None,
    name: str,
    notes: list[str],
    where: Conditions,
    *,
    empty: bool = True,
) -> Iterator[Cells]:
    """Yield the chosen columns of each row as texts; nothing (null) is an empty text, or refused."""
    if where:
        rows = _meeting(rows, where, name)
    first = _first_rows(rows)
    if not first:
        raise DataError(f"{name} is empty. Give a source with at least one row.")
    keys = choose_column(name, first, notes) if columns is None else columns
    check_columns(name, keys, list(first[0]))
    warn_of_numbers(name, keys, first, notes)
    for number, row in enumerate(itertools.chain(first, rows), 1):
        cells = tuple([row.get(key) for key in keys])
        for cell in cells:
            if cell.__class__ is not str:
                cells = _as_texts(cells, keys, f"row {number} of {name}", empty)
                break
        yield cells  # type: ignore[misc]


def _first_rows(rows: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows by which columns are judged; a few where they are long."""
    first: list[dict[str, Any]] = []
    size = 0
    while len(first) < JUDGED_ROWS and size < _JUDGED_SIZE and (row := next(rows, None)) is not None:
        first.append(row)
        size += sum(len(cell) for cell in row.values() if isinstance(cell, str))
    return first


def _as_texts(cells: tuple[Any, ...], keys: list[str], where: str, empty: bool) -> Cells:
    cells = tuple(
        str(cell) if isinstance(cell, int) and len(keys) > 1 and key.lower() in LABEL_COLUMNS else cell
        for key, cell in zip(keys, cells, strict=True)
    )
    for key, cell in zip(keys, cells, strict=True):
        if cell is None and not empty:
            raise DataError(f"The column {key!r} in {where} is missing or null. Fill it, or leave the row out.")
        if cell is not None and not isinstance(cell, str):
            raise DataError(
                f"The column {key!r} in {where} holds no text but {type(cell).__name__}. Choose columns of text."
            )
    return tuple(cell or "" for cell in cells)


def _given(texts: Iterable[Any]) -> Iterator[Cells]:
    width = 0
    for number, row in enumerate(texts, 1):
        cells = (row,) if isinstance(row, str) else row
        if not isinstance(cells, (tuple, list)) or not all(isinstance(cell, str) for cell in cells) or not cells:
            raise DataError(f"Row {number} of the given texts is {row!r:.60}. Give texts, or tuples of texts.")
        width = width or len(cells)
        if len(cells) != width:
            raise DataError(f"Row {number} of the given texts has {len(cells)} columns, the first {width}.")
        yield tuple(cells)
