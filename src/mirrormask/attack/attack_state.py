"""A text under attack: what was done to it, what can be done next, and what is told of it in the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mirrormask.attack.edited_text import LEFT, REPLACE, RIGHT, CutText, Edit, EditedText
from mirrormask.attack.outcome import TURNED, Outcome
from mirrormask.attack.proposals import Slot
from mirrormask.attack.tagging import REACH, Tagger


@dataclass(eq=False)
class Candidate:
    """A word in a slot, and what is known of it.

    Args:
        slot: where it would stand.
        word: the new word.
        answer: the classifier's probabilities, once it was asked.
        similarity: with the original, once it was compared.
    """

    slot: Slot
    word: str
    answer: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    similarity: float = float("nan")

    @property
    def text(self) -> str:
        """Return the whole text with the word in it."""
        return self.word.join(self.slot.sides)


class State:
    """A text under attack.

    Args:
        text: the original.
        label: its class.
        first: the classifier's probabilities of it.
    """

    def __init__(self, text: str, label: int, first: NDArray[np.float64]) -> None:
        self.original, self.label, self.first = text, label, first
        self.text = EditedText(CutText.of(text))
        self.answer = first
        self.result, self.queries, self.spent = "", 1, False
        self.places: list[int] = []
        self.plan: list[tuple[int, tuple[str, ...]]] = []
        self.candidates: list[Candidate] = []

    @property
    def cut(self) -> CutText:
        """Return the words of the original."""
        return self.text.cut

    @property
    def now(self) -> float:
        """Return the probability of the label for the text as it stands."""
        return float(self.answer[self.label])

    def take(self, best: Candidate) -> None:
        """Make the edit of a candidate."""
        self.text = self.text.edited(Edit(best.slot.kind, best.slot.place, best.word))
        self.answer = best.answer

    def outcome(self, tagger: Tagger | None, similarity: float | None, text_similarity: float | None) -> Outcome:
        """Return what is to be told; the similarities are those of the found text."""
        turned = self.result == TURNED
        return Outcome(
            text=self.original,
            label=self.label,
            result=self.result,
            before=float(self.first[self.label]),
            after=self.now,
            queries=self.queries,
            found=self.text.text if turned else None,
            predicted=int(self.answer.argmax()) if turned else None,
            edits=self.text.edits if turned else (),
            similarity=similarity,
            text_similarity=text_similarity,
            tags=tags_of(self.text, tagger) if turned and tagger is not None else (),
        )


def tags_of(text: EditedText, tagger: Tagger) -> tuple[tuple[str, str], ...]:
    """Return the parts of speech of each edit: of the word that was there (none at an insertion), and of the new."""
    found = []
    plain = EditedText(text.cut)
    for edit in text.edits:
        before, place = plain.near(edit.place, REACH)
        old = tagger.tags(before)[place] if edit.kind == REPLACE else ""
        after, here = text.near(edit.place, REACH)
        found.append((old, tagger.tags(after)[here + {REPLACE: 0, LEFT: -1, RIGHT: 1}[edit.kind]]))
    return tuple(found)
