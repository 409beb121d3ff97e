"""Segmented text in the format of the SIGHAN bake-offs: a sentence a line, white space between words.

Paper: Emerson 2005, "The Second International Chinese Word Segmentation Bakeoff"
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.core.storage import atomic_file
from mirrormask.data.text.compression import named
from mirrormask.data.text.files import open_text

SEPARATOR = "  "
_LATIN_WORDS = re.compile(r"[A-Za-z]\s+[A-Za-z]")


def read_segmented(path: Path | str) -> Iterator[list[str]]:
    """Yield the words of each line; a blank line has none.

    Raises:
        DataError: there is no word at all.
    """
    found = False
    with open_text(path) as stream:
        for line in stream:
            words = line.split()
            found = found or bool(words)
            yield words
    if not found:
        raise DataError(f"{named(path)} has no word. Give text with white space between words.")


def read_unsegmented(path: Path | str) -> Iterator[str]:
    """Yield each line without its white space, as a segmenter takes it; a blank line is empty."""
    found = False
    with open_text(path) as stream:
        for line in stream:
            text = "".join(line.split())
            found = found or bool(text)
            yield text
    if not found:
        raise DataError(f"{named(path)} has no text. Give at least one line of it.")


def count_spaced_lines(path: Path | str, limit: int | None = None) -> int:
    """Return how many of the first `limit` lines have spaces between Latin words, which `read_unsegmented` drops."""
    with open_text(path) as stream:
        return sum(_LATIN_WORDS.search(line) is not None for line in itertools.islice(stream, limit))


def check_same_text(gold: Path | str, text: Path | str) -> None:
    """Raise a DataError, with the line, unless the words of `gold` joined are the lines of `text`."""
    lines = read_unsegmented(text)
    number = 0
    for number, words in enumerate(read_segmented(gold), 1):
        line = next(lines, None)
        if line != "".join(words):
            raise DataError(
                f"{named(gold)}, line {number}: the words are not those of {named(text)}. Give its gold file."
            )
    if next(lines, None) is not None:
        raise DataError(f"{named(gold)} ends after line {number}, and {named(text)} goes on. Give files of one text.")


def format_segmented(words: Sequence[str]) -> str:
    """Return a line of segmented text.

    Example:
        >>> format_segmented(["下雨", "了", "。"])
        '下雨  了  。'
    """
    return SEPARATOR.join(words)


def write_segmented(path: Path | str, lines: Iterable[Sequence[str]]) -> None:
    """Write segmented lines, whole or not at all."""
    with atomic_file(path) as stream:
        stream.writelines(format_segmented(words) + "\n" for words in lines)
