"""Long documents cut into passages: at sentences, of about the length an encoder reads, overlapping a little."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from mirrormask.core.errors import at_least
from mirrormask.data.text.sentences import count_words, split_sentences

_SPACES = re.compile(r"\s")
_LONG_WORD = 12  # characters
_WINDOW = 1 << 20  # characters split into sentences at a time


@dataclass(frozen=True)
class Cutting:
    """How documents are cut.

    Args:
        words: of a passage at most; a Chinese character counts as one.
        overlap: share of a passage that the next may begin with.
    """

    words: int = 180
    overlap: float = 0.2

    def __post_init__(self) -> None:
        at_least("words", self.words, 8, of="a passage")


def cut(text: str, cutting: Cutting) -> list[tuple[int, int]]:
    """Return where each passage of a text begins and ends.

    A text that is little longer than one passage stays whole. Sentences are never cut unless one alone is too long:
    that one is cut at white space, and without white space at characters.

    Args:
        text: of a document, in English, Chinese or the like.
        cutting: how long passages are.

    Example:
        >>> text = "One two three four. Five six seven. Eight nine ten. Eleven twelve."
        >>> [text[a:b] for a, b in cut(text, Cutting(words=8, overlap=0.5))]
        ['One two three four. Five six seven.', 'Five six seven. Eight nine ten. Eleven twelve.']
    """
    if len(text) <= 4 * cutting.words or (len(text) <= 16 * cutting.words and count_words(text) <= cutting.words):
        whole = text.strip()
        begin = len(text) - len(text.lstrip())
        return [(begin, begin + len(whole))] if whole else []
    found: list[tuple[int, int]] = []
    held: list[tuple[int, int, int]] = []  # begin, end, words
    size = 0
    for begin, end, words in _units(text, cutting.words):
        if held and size + words > cutting.words:
            found.append((held[0][0], held[-1][1]))
            held = _kept(held, cutting.overlap * cutting.words, cutting.words - words)
            size = sum(each[2] for each in held)
        held.append((begin, end, words))
        size += words
    if held:
        found.append((held[0][0], held[-1][1]))
    return found


def _kept(held: list[tuple[int, int, int]], most: float, room: int) -> list[tuple[int, int, int]]:
    """Return the last units that the next passage begins with: few words, and room left for what comes."""
    size, first = 0, len(held)
    while first > 1 and size + held[first - 1][2] <= min(most, room):
        first -= 1
        size += held[first][2]
    return held[first:]


def _units(text: str, most: int) -> Iterator[tuple[int, int, int]]:
    """Yield where each sentence, or piece of one that is too long, begins and ends, and its number of words."""
    place = 0
    for sentence in _sentences(text):
        begin = text.index(sentence, place)
        place = begin + len(sentence)
        words = _size(sentence)
        if words <= most:
            yield begin, place, words
            continue
        for a, b in _pieces(sentence, most):
            yield begin + a, begin + b, _size(sentence[a:b])


def _size(text: str) -> int:
    """Return how many words a text counts for; very long ones count for several, as they are several tokens."""
    return max(count_words(text), len(text) // _LONG_WORD)


def _sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text of any length, read window by window."""
    start = 0
    while start < len(text):
        stop = start + _WINDOW
        if stop < len(text):
            last = [found.end() for found in _SPACES.finditer(text, max(start, stop - 4096), stop)]
            stop = last[-1] if last else stop
        yield from split_sentences(text[start:stop])
        start = stop


def _pieces(sentence: str, most: int) -> Iterator[tuple[int, int]]:
    """Yield where each piece of a long sentence begins and ends: about half a passage each."""
    start = 0
    while start < len(sentence):
        stop = min(len(sentence), start + max(1, most // 2) * 6)
        words = _size(sentence[start:stop])
        if words > most // 2:  # Chinese, or short words
            stop = start + max(1, (stop - start) * (most // 2) // words)
        if stop < len(sentence):
            gap = max(sentence.rfind(" ", start, stop), sentence.rfind("\n", start, stop))
            stop = gap + 1 if gap > start else stop
        if piece := sentence[start:stop].rstrip():
            yield start, start + len(piece)
        start = stop
