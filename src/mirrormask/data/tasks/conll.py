"""Dependency trees of either layout: CoNLL-U's ten columns, or the short one of word, tag and head."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.conllu import Lines, blocks, parse_conllu, parsed_head
from mirrormask.data.tasks.dependencies import DependencySentence, Word, check_tree
from mirrormask.data.text.compression import named

_SHORT = (3, 4)


def read_dependencies(path: Path | str) -> Iterator[DependencySentence]:
    """Yield the sentences of a CoNLL-U, CoNLL-X or short CoNLL file, told apart by the columns of each sentence.

    The short layout is `word tag head`, perhaps followed by the relation; 0 is the root, words count from 1.

    Raises:
        DataError: as `read_conllu`.
    """
    found = False
    for lines in blocks(path):
        rows = [text for _, text in lines if not text.startswith("#")]
        short = bool(rows) and len(rows[0].split("\t")) in _SHORT
        sentence = _parse_short(lines, named(path)) if short else parse_conllu(lines, named(path))
        if sentence is not None:
            found = True
            yield sentence
    if not found:
        raise DataError(f"{named(path)} has no sentence. Give a CoNLL-U or CoNLL file with at least one.")


def _parse_short(lines: Lines, source: str) -> DependencySentence:
    rows = [(number, text.split("\t")) for number, text in lines]
    comments = []
    while rows[0][1][0].startswith("#") and len(rows[0][1]) not in _SHORT:
        comments.append("\t".join(rows.pop(0)[1]))
    words = []
    for number, fields in rows:
        if len(fields) not in _SHORT:
            raise DataError(
                f"{source}, line {number}: a line has word, tag and head, perhaps a relation, with tabs between them. "
                f"Got {len(fields)} columns."
            )
        head = parsed_head(fields[2], len(rows), f"{source}, line {number}")
        words.append(Word(fields[0], head, fields[3] if len(fields) > 3 else "_", xpos=fields[1]))
    check_tree([word.head for word in words], [number for number, _ in rows], source)
    return DependencySentence(tuple(words), tuple(comments), (), lines[0][0])
