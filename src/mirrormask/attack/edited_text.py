"""A text cut into words, and the edits of an attack on it: the rest of the text stays to the character."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

_WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")

REPLACE, LEFT, RIGHT = "replace", "left", "right"
KINDS = (REPLACE, LEFT, RIGHT)
"""What an edit does at a word: stand for it, or stand before or behind it."""


@dataclass(frozen=True)
class CutText:
    """A text as words and what stands between them.

    Args:
        words: letters and digits, apostrophes and hyphens inside them.
        gaps: what stands before, between and behind them; one more than words.

    Example:
        >>> CutText.of('A well-made film, "truly".').words
        ('A', 'well-made', 'film', 'truly')
    """

    words: tuple[str, ...]
    gaps: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> CutText:
        """Cut a text."""
        found = list(_WORD.finditer(text))
        edges = [0, *(edge for match in found for edge in match.span()), len(text)]
        gaps = tuple(text[start:stop] for start, stop in zip(edges[::2], edges[1::2], strict=True))
        return cls(tuple(match.group() for match in found), gaps)

    def without(self, place: int) -> str:
        """Return the text without a word and the space behind it."""
        end = self.gaps[place + 1]
        before = self._joined(0, place) + self.gaps[place]
        return before + (end[1:] if end.startswith(" ") else end) + self._joined(place + 1, len(self.words), tail=True)

    def _joined(self, start: int, stop: int, *, tail: bool = False) -> str:
        """Return words with the gap before each; from the second part on, without its first gap and with the last."""
        if not tail:
            return "".join(self.gaps[place] + self.words[place] for place in range(start, stop))
        return "".join(self.words[place] + self.gaps[place + 1] for place in range(start, stop))


@dataclass(frozen=True)
class Edit:
    """One word put into a text.

    Args:
        kind: `replace`, or `left` and `right` of a word that stays.
        place: which word of the original.
        word: the new word.
    """

    kind: str
    place: int
    word: str


@dataclass(frozen=True)
class EditedText:
    """A text with the edits made so far: at most one of each kind at a word.

    Args:
        cut: the original.
        edits: in the order in which they were made.

    Example:
        >>> text = EditedText(CutText.of("A good film!")).edited(Edit("replace", 1, "fine"))
        >>> text.edited(Edit("left", 2, "short")).text
        'A fine short film!'
    """

    cut: CutText
    edits: tuple[Edit, ...] = ()

    @cached_property
    def pieces(self) -> list[str]:
        """Return what stands where each word of the original stood."""
        found = list(self.cut.words)
        for edit in sorted(self.edits, key=lambda edit: edit.kind != REPLACE):
            before, after = around(edit.kind, found[edit.place])
            found[edit.place] = before + edit.word + after
        return found

    @property
    def text(self) -> str:
        """Return the edited text."""
        return self.cut.gaps[0] + self.window(0, len(self.pieces)) + self.cut.gaps[-1]

    @property
    def places(self) -> list[int]:
        """Return the words of the original at which something was changed, in order."""
        return sorted({edit.place for edit in self.edits})

    def edited(self, edit: Edit) -> EditedText:
        """Return the text with one edit more."""
        return EditedText(self.cut, (*self.edits, edit))

    def window(self, start: int, stop: int) -> str:
        """Return what stands where the words from `start` to `stop` of the original stood."""
        return "".join(self._with_gaps(start, stop))

    def slot(self, kind: str, place: int, start: int = 0, stop: int | None = None) -> tuple[str, str]:
        """Return what stands before and behind a word that an edit would put in, in the whole text or in a window."""
        whole = stop is None
        stop = len(self.pieces) if stop is None else stop
        before, after = around(kind, self.pieces[place])
        left = "".join([*self._with_gaps(start, place), self.cut.gaps[place] if place > start else ""])
        right = "".join([self.cut.gaps[place + 1] if place + 1 < stop else "", *self._with_gaps(place + 1, stop)])
        if whole:
            left, right = self.cut.gaps[0] + left, right + self.cut.gaps[-1]
        return left + before, after + right

    def near(self, place: int, reach: int) -> tuple[list[str], int]:
        """Return the words around a word, at most `reach` of the original to each side, and where it stands."""
        start = max(0, place - reach)
        before = [word for piece in self.pieces[start:place] for word in piece.split(" ")]
        here = self.pieces[place].split(" ")
        inside = 1 if any(edit.kind == LEFT and edit.place == place for edit in self.edits) else 0
        after = [word for piece in self.pieces[place + 1 : place + 1 + reach] for word in piece.split(" ")]
        return [*before, *here, *after], len(before) + inside

    def _with_gaps(self, start: int, stop: int) -> Iterable[str]:
        for place in range(start, stop):
            if place > start:
                yield self.cut.gaps[place]
            yield self.pieces[place]


def around(kind: str, piece: str) -> tuple[str, str]:
    """Return what of a piece stands before and behind a word put in at it; a replaced word is a piece of its own."""
    return {REPLACE: ("", ""), LEFT: ("", f" {piece}"), RIGHT: (f"{piece} ", "")}[kind]


def in_case_of(word: str, model: str) -> str:
    """Return a word written as another one is: small, with a capital, or in capitals.

    Example:
        >>> in_case_of("fine", "Good"), in_case_of("fine", "GOOD"), in_case_of("fine", "a")
        ('Fine', 'FINE', 'fine')
    """
    if len(model) > 1 and model.isupper():
        return word.upper()
    return word[:1].upper() + word[1:] if model[:1].isupper() else word
