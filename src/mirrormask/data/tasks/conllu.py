"""CoNLL-U in and out: one word a line in ten columns, a blank line after each sentence.

Multi-word tokens (`3-4`) are kept for writing, empty nodes (`8.1`) belong to the enhanced graph and are left out.
CoNLL-X has the same ten columns and is read the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.core.storage import atomic_file
from mirrormask.data.tasks.dependencies import ROOT, DependencySentence, Word, check_tree
from mirrormask.data.text.compression import named
from mirrormask.data.text.files import open_text

Lines = list[tuple[int, str]]

_COLUMNS = 10


def read_conllu(path: Path | str) -> Iterator[DependencySentence]:
    """Yield the sentences of a CoNLL-U file, plain or compressed, one at a time.

    Raises:
        DataError: a line that is no word, a head that is missing or leads nowhere, a cycle, or no sentence at all; the
            message names file and line.
    """
    found = False
    for lines in blocks(path):
        sentence = parse_conllu(lines, named(path))
        if sentence is not None:
            found = True
            yield sentence
    if not found:
        raise DataError(f"{named(path)} has no sentence. Give a CoNLL-U file with at least one.")


def blocks(path: Path | str) -> Iterator[Lines]:
    """Yield the lines between blank lines, each with its number."""
    lines: Lines = []
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            text = line.rstrip("\r\n")
            if text.strip():
                lines.append((number, text))
            elif lines:
                yield lines
                lines = []
    if lines:
        yield lines


def parse_conllu(lines: Lines, source: str) -> DependencySentence | None:
    """Return the sentence of a block of lines, or None where it has comments only."""
    comments: list[str] = []
    ranges: list[tuple[int, str]] = []
    words: list[Word] = []
    numbers: list[int] = []
    raw_heads: list[str] = []
    for number, text in lines:
        if text.startswith("#") and not words:
            comments.append(text)
            continue
        fields = text.split("\t")
        if len(fields) != _COLUMNS:
            raise DataError(
                f"{source}, line {number}: a line of CoNLL-U has {_COLUMNS} columns with tabs between them. "
                f"Got {len(fields)}."
            )
        name = fields[0]
        if "-" in name and "." not in name:
            ranges.append((len(words), text))
            continue
        if "." in name:
            continue
        if name != str(len(words) + 1):
            raise DataError(
                f"{source}, line {number}: words are numbered 1, 2, 3 …, and {len(words) + 1} is next. Got {name!r}."
            )
        words.append(Word(fields[1], ROOT, fields[7], fields[2], fields[3], fields[4], fields[5], fields[9]))
        numbers.append(number)
        raw_heads.append(fields[6])
    if not words:
        return None
    heads = [
        parsed_head(text, len(words), f"{source}, line {line}") for text, line in zip(raw_heads, numbers, strict=True)
    ]
    check_tree(heads, numbers, source)
    placed = (
        Word(w.form, head, w.relation, w.lemma, w.upos, w.xpos, w.features, w.misc)
        for w, head in zip(words, heads, strict=True)
    )
    return DependencySentence(tuple(placed), tuple(comments), tuple(ranges), lines[0][0])


def parsed_head(text: str, n: int, where: str) -> int:
    """Return a head as written (0 is the root, words count from 1) as a place, or `ROOT`."""
    if text in ("_", ""):
        raise DataError(f"{where}: the head is missing. Give 0 for the root, or the number of a word.")
    if not text.isascii() or not text.isdigit() or int(text) > n:
        raise DataError(f"{where}: a head must be 0, for the root, or the number of a word up to {n}. Got {text!r}.")
    return int(text) - 1


def format_conllu(sentence: DependencySentence) -> str:
    """Return the lines of a sentence, with the blank line after it.

    Example:
        >>> rain = DependencySentence((Word("Rain", 1, "nsubj"), Word("falls", -1, "root")))
        >>> format_conllu(rain).replace("\\t", " ").splitlines()
        ['1 Rain _ _ _ _ 2 nsubj _ _', '2 falls _ _ _ _ 0 root _ _', '']
    """
    lines = list(sentence.comments)
    ranges = dict(sentence.ranges)
    for place, word in enumerate(sentence.words):
        if place in ranges:
            lines.append(ranges[place])
        fields = (word.form, word.lemma, word.upos, word.xpos, word.features)
        lines.append("\t".join([str(place + 1), *fields, str(word.head + 1), word.relation, "_", word.misc]))
    return "\n".join([*lines, "", ""])


def write_conllu(path: Path | str, sentences: Iterable[DependencySentence]) -> None:
    """Write sentences as CoNLL-U, whole or not at all."""
    with atomic_file(path) as stream:
        stream.writelines(format_conllu(sentence) for sentence in sentences)
