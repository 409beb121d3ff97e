"""Files of word vectors: GloVe's, word2vec's and fastText's text formats, and word2vec's binary one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import open_text

Vectors = NDArray[np.float32]
_LOOK = 256  # bytes that tell a binary file: it has a line of two numbers, and then what is no text


def read_vectors(path: Path | str, limit: int = 0) -> tuple[list[str], Vectors]:
    """Return words and their vectors (n, d), in the order of the file.

    Args:
        path: a file; a text file may be compressed.
        limit: words to read at most, from the first; 0 reads all.

    Raises:
        DataError: the file is in none of the formats.
    """
    found = _binary(Path(path), limit) if _is_binary(Path(path)) else _text(path, limit)
    words: list[str] = []
    rows: list[Vectors] = []
    for word, row in found:
        words.append(word)
        rows.append(row)
        if limit and len(rows) == limit:
            break
    if not rows:
        raise DataError(f"{path} has no word vectors. Give a file in GloVe's or word2vec's text format.")
    return words, np.stack(rows)


def _text(path: Path | str, limit: int) -> Iterator[tuple[str, Vectors]]:
    width = 0
    with open_text(path) as lines:
        for number, line in enumerate(lines, 1):
            fields = line.rstrip().split(" ")
            if number == 1 and len(fields) == 2:
                continue  # word2vec's first line: how many, and how wide
            cut = len(fields) - width if width else 1  # a word of GloVe's may have spaces in it
            try:
                row = np.array(fields[cut:], dtype=np.float32)
            except ValueError:
                row = np.empty(0, dtype=np.float32)
            if cut < 1 or not len(row) or not np.isfinite(row).all():
                raise DataError(f"{path}, line {number}, is no word vector. Write a word and its numbers in each line.")
            width = len(row)
            yield " ".join(fields[:cut]), row


def _is_binary(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_LOOK)
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}. Name a file of word vectors.") from error
    first, newline, rest = head.partition(b"\n")
    fields = first.split()
    return (
        bool(newline)
        and len(fields) == 2
        and all(map(bytes.isdigit, fields))
        and b"\n" not in rest[:1]
        and not _readable(rest)
    )


def _readable(rest: bytes) -> bool:
    """Say whether some bytes are text; a character that the end cuts does not count."""
    text = rest.decode("utf-8", "replace").rstrip("�")
    return "�" not in text and "\0" not in text


def _binary(path: Path, limit: int) -> Iterator[tuple[str, Vectors]]:
    with path.open("rb") as file:
        count, width = map(int, file.readline().split())
        for number in range(1, count + 1):
            word = bytearray()
            while (letter := file.read(1)) not in (b" ", b""):
                word += letter
            values = file.read(4 * width)
            if letter == b"" or len(values) < 4 * width:
                raise DataError(
                    f"{path} ends at word {number:,} of {count:,}: it is cut short, or no binary file of word2vec. "
                    "Copy it again."
                )
            yield word.decode("utf-8", "replace").strip(), np.frombuffer(values, dtype="<f4").copy()
