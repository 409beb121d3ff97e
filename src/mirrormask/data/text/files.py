"""Rows of text files: `.txt`, `.csv`, `.tsv`, `.jsonl`, `.parquet`, plain or compressed, one at a time.

Nothing here holds more than one block of a file, and whatever is wrong with a file becomes one `DataError`
that names the file, the place in it and the way out.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from mirrormask.core.errors import DataError, MissingExtra, did_you_mean
from mirrormask.data.text.compression import READ_ERRORS, STDIN, check_file, damaged, named, open_bytes, split_suffix

Row = dict[str, Any]

_BOM = b"\xef\xbb\xbf"
_LONGEST_FIELD = 1 << 24  # characters; a longer CSV field is a quote that was never closed
_LONGEST_LINE = 1 << 26  # bytes; what has no line break for that long is no text to learn from
_PARQUET_ROWS = 2048
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class TextFile:
    """The lines of an open text file, line endings kept; iterate once, in a `with` block or to the end.

    Args:
        path: the name for messages.
        stream: the decompressed bytes.
    """

    def __init__(self, path: Path | str, stream: BinaryIO) -> None:
        self.path = path
        self.name = named(path)
        self.line = 0
        self._stream = stream

    def __iter__(self) -> Iterator[str]:
        try:
            first = self._stream.readline(_LONGEST_LINE)
            if first.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise DataError(
                    f"{self.name} is UTF-16. Convert it to UTF-8, for example with iconv -f UTF-16 -t UTF-8."
                )
            raw = first.removeprefix(_BOM)
            offset = len(first) - len(raw)
            while raw:
                self.line += 1
                if b"\0" in raw:
                    raise self._refused(offset + raw.index(b"\0"), "is not text: it holds a zero byte")
                if len(raw) == _LONGEST_LINE and not raw.endswith(b"\n"):
                    raise self._refused(offset, f"has more than {_LONGEST_LINE >> 20} MB without a line break")
                try:
                    line = raw.decode("utf-8")
                except UnicodeDecodeError as error:
                    why = f"is not UTF-8: it holds the byte 0x{raw[error.start]:02x}"
                    raise self._refused(offset + error.start, why) from None
                yield line
                offset += len(raw)
                raw = self._stream.readline(_LONGEST_LINE)
        except READ_ERRORS as error:
            raise damaged(self.path, error) from error
        finally:
            self.close()

    def __enter__(self) -> TextFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; stdin stays open."""
        if str(self.path) != STDIN:
            self._stream.close()

    def _refused(self, offset: int, why: str) -> DataError:
        return DataError(
            f"{self.name} {why} in line {self.line} (byte {offset}). Give plain UTF-8 text, or name the format "
            "with .csv, .tsv, .jsonl or .parquet, and the compression with .gz, .bz2, .xz or .zst."
        )


def open_text(path: Path | str) -> TextFile:
    """Open a text file, plain or compressed, as UTF-8 lines; `-` is stdin.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     _ = (Path(folder) / "two.txt").write_text("one\\ntwo\\n")
        ...     [line.strip() for line in open_text(Path(folder) / "two.txt")]
        ['one', 'two']
    """
    return TextFile(path, open_bytes(path))


def records(path: Path | str, columns: Sequence[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a file as dictionaries, streamed.

    A `.txt` file (and any other text) has one column, `text`, and a row for every line, blank ones too.

    Args:
        path: a file, its format and compression told by its name; `-` is stdin, read as lines of text.
        columns: the columns to keep, in this order; None keeps all.

    Raises:
        DataError: the file is missing, empty, damaged or not what its name says, or has no such column.
    """
    check_file(path)
    reader = _READERS.get(split_suffix(path)[0], _text_rows)
    return _nonempty(path, reader(path, None if columns is None else list(columns)))


def columns_of(path: Path | str) -> list[str]:
    """Return the names of a file's columns, read from its first row."""
    rows = records(path)
    try:
        return list(next(rows))
    finally:
        rows.close()  # type: ignore[attr-defined]


def about_rows(path: Path | str) -> int:
    """Return how many rows a file has, as far as line breaks tell: blank lines and breaks inside of cells count too."""
    if split_suffix(path) == (".parquet", ""):
        import pyarrow.parquet as parquet

        return int(parquet.read_metadata(path).num_rows)
    with open_bytes(path) as stream:
        return sum(block.count(b"\n") for block in iter(lambda: stream.read(1 << 20), b""))


def check_columns(path: Path | str, asked: Iterable[str], there: Sequence[str], where: str = "") -> None:
    """Raise a DataError that lists the columns there are unless every column asked for is among them."""
    for name in asked:
        if name not in there:
            raise DataError(
                f"{named(path)} has no column {name!r}{where}.{did_you_mean(name, there)} "
                f"Its columns are: {', '.join(there)}."
            )


def _nonempty(path: Path | str, rows: Iterator[Row]) -> Iterator[Row]:
    empty = True
    for row in rows:
        empty = False
        yield row
    if empty:
        name = "stdin" if str(path) == STDIN else f"The file {path}"
        raise DataError(f"{name} is empty. Give a file with at least one row.")


def _text_rows(path: Path | str, columns: list[str] | None) -> Iterator[Row]:
    check_columns(path, columns or [], ["text"])
    for line in open_text(path):
        yield {"text": line.rstrip("\r\n")}


def _json_rows(path: Path | str, columns: list[str] | None) -> Iterator[Row]:
    for number, line in enumerate(open_text(path), 1):
        if line.isspace():
            continue
        try:
            row = json.loads(line)
            if _SURROGATE.search(line):
                row = _without_surrogates(row)
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"Line {number} of {named(path)} is not JSON: {_reason(error)}. Put one JSON object on each line."
            ) from None
        if not isinstance(row, dict) or not row:
            what = "an object without keys" if row == {} else f"not a JSON object but {type(row).__name__}"
            raise DataError(f"Line {number} of {named(path)} is {what}. Put one object with its columns on each line.")
        if columns is not None:
            check_columns(path, columns, list(row), f" in line {number}")
            row = {name: row[name] for name in columns}
        yield row


def _without_surrogates(value: Any) -> Any:
    """Return a JSON value in which halves of a character, which no text can hold, are U+FFFD."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return "it holds a number of too many digits" if "digits" in str(error) else str(error)


def _csv_rows(path: Path | str, columns: list[str] | None) -> Iterator[Row]:
    if csv.field_size_limit() < _LONGEST_FIELD:
        csv.field_size_limit(_LONGEST_FIELD)  # the default of 131,072 refuses long documents
    with open_text(path) as text:
        reader = csv.reader(text, strict=True)
        try:
            yield from _table(path, reader, columns, lambda: reader.line_num)
        except csv.Error as error:
            raise DataError(
                f"Line {reader.line_num} of {path} is not CSV: {error}. "
                "Look for a quote that is not closed or not doubled."
            ) from None


def _tsv_rows(path: Path | str, columns: list[str] | None) -> Iterator[Row]:
    with open_text(path) as text:
        cells = ([_unquoted(cell) for cell in line.rstrip("\r\n").split("\t")] for line in text if not line.isspace())
        yield from _table(path, cells, columns, lambda: text.line)


def _unquoted(cell: str) -> str:
    """Undo quoting where a cell is quoted from end to end; many TSV files hold lone quotes that mean nothing."""
    if len(cell) > 1 and cell[0] == cell[-1] == '"' and '"' not in cell[1:-1].replace('""', ""):
        return cell[1:-1].replace('""', '"')
    return cell


def _table(
    path: Path | str, lines: Iterable[list[str]], columns: list[str] | None, number: Callable[[], int]
) -> Iterator[Row]:
    """Yield rows of cells under the names of the first row."""
    rows = iter(lines)
    names = next(rows, [])
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"The header of {path} names the column {twice!r} twice. Give every column its own name.")
    check_columns(path, columns or [], names)
    kept = [(name, names.index(name)) for name in (names if columns is None else columns)]
    for row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise DataError(
                f"Line {number()} of {path} has {len(row)} columns, its header {len(names)}: {', '.join(names)}. "
                "Give the first line a header and every line as many columns."
            )
        yield {name: row[place] for name, place in kept}


def _parquet_rows(path: Path | str, columns: list[str] | None) -> Iterator[Row]:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError:
        raise MissingExtra("pyarrow", "data", "Reading a .parquet file") from None
    with tempfile.TemporaryFile() as unpacked:
        source: Any = path
        if split_suffix(path)[1]:  # parquet is read from its end, so a compressed one is unpacked first
            try:
                with open_bytes(path) as stream:
                    shutil.copyfileobj(stream, unpacked)
            except READ_ERRORS as error:
                raise damaged(path, error) from error
            source = unpacked
        try:
            with parquet.ParquetFile(source, pre_buffer=False) as file:
                check_columns(path, columns or [], file.schema_arrow.names)
                for block in file.iter_batches(_PARQUET_ROWS, columns=columns, use_threads=False):
                    yield from block.to_pylist()
        except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
            why = " ".join(str(error).split())
            raise DataError(f"{path} is not a Parquet file that can be read: {why}. Write it again.") from error


_READERS: dict[str, Callable[[Path | str, list[str] | None], Iterator[Row]]] = {
    ".csv": _csv_rows,
    ".tsv": _tsv_rows,
    ".jsonl": _json_rows,
    ".ndjson": _json_rows,
    ".json": _json_rows,
    ".parquet": _parquet_rows,
}
