"""What writing itself shows about words: punctuation marks, runs of letters and digits, clauses."""

from __future__ import annotations

import itertools
import unicodedata
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_CLAUSE_ENDS = "。！？；，、：,.!?;:"


def typographic(text: str) -> NDArray[np.int64]:
    """Return, for every two neighbors, 1 where writing sets them apart, -1 where it joins them, 0 where it is silent.

    Example:
        >>> typographic("在2001年，雨").tolist()
        [0, -1, -1, -1, 0, 1, 1]
    """
    kinds = [_kind(character) for character in text]
    pairs = itertools.pairwise(kinds)
    found = [1 if "mark" in pair else -1 if pair[0] == pair[1] != "other" else 0 for pair in pairs]
    return np.array(found, dtype=np.int64)


def _kind(character: str) -> str:
    if unicodedata.category(character)[0] in "PS":
        return "mark"
    plain = unicodedata.normalize("NFKC", character)
    if plain.isascii() and plain.isdigit():
        return "digit"
    return "letter" if plain.isascii() and plain.isalpha() else "other"


def cut_at(text: str, boundary: NDArray[np.bool_]) -> list[str]:
    """Return the text cut where `boundary` (n - 1,) says."""
    ends = [0, *(np.flatnonzero(boundary) + 1).tolist(), len(text)]
    return [text[start:stop] for start, stop in itertools.pairwise(ends) if stop > start]


def words_of_clauses(words: Sequence[str], most: int) -> list[list[str]]:
    """Return the words of a line in the pieces that `clauses` cuts it into; a word across a cut is cut, too.

    Example:
        >>> words_of_clauses(["今天", "下雨", "，", "我们", "在家", "。"], 6)
        [['今天', '下雨', '，'], ['我们', '在家', '。']]
    """
    ends = np.cumsum([len(word) for word in words])
    found, start = [], 0
    for piece in clauses("".join(words), most):
        inside = ends[(ends > start) & (ends < start + len(piece))] - start
        found.append([piece[i:j] for i, j in itertools.pairwise([0, *inside.tolist(), len(piece)])])
        start += len(piece)
    return found


def clauses(text: str, most: int) -> list[str]:
    """Return a line in pieces of at most `most` characters, cut after punctuation where there is some.

    A model reads only so much at once. A mark is a word by itself, so a cut after one cuts no word.

    Example:
        >>> clauses("今天下雨，我们在家。", 6)
        ['今天下雨，', '我们在家。']
    """
    pieces = []
    start = 0
    while len(text) - start > most:
        window = text[start : start + most]
        last = max(window.rfind(mark) for mark in _CLAUSE_ENDS)
        stop = start + (last + 1 if last >= 0 else most)
        pieces.append(text[start:stop])
        start = stop
    return [*pieces, text[start:]] if text[start:] else pieces
