"""What an attack did to each text, and what that says of the classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mirrormask.attack.edited_text import KINDS, CutText, Edit, EditedText
from mirrormask.attack.meaning import Meaning
from mirrormask.attack.victims import Victim
from mirrormask.core.errors import DataError

TURNED, HELD, WRONG, STOPPED = "turned", "held", "wrong before", "stopped"
"""How an attack on a text ends: the answer changed; it did not; it was wrong already; a budget was spent first."""


@dataclass(frozen=True)
class Outcome:
    """One text.

    Args:
        text: the original.
        label: its class, by number.
        result: how it ended.
        before: the classifier's probability of the label for the original.
        after: for the text that was found, or the furthest that the attack came.
        queries: texts that the classifier was asked about.
        found: the text that turns the answer.
        predicted: what the classifier says of it.
        edits: that make it of the original.
        similarity: the least cosine of a window around an edit with the original.
        text_similarity: the cosine of the whole texts.
        perplexity, perplexity_before: of the found text and of the original, by the masked LM.
        tags: part of speech of the original word (none at an insertion) and of the new one, for each edit.
    """

    text: str
    label: int
    result: str
    before: float
    after: float
    queries: int
    found: str | None = None
    predicted: int | None = None
    edits: tuple[Edit, ...] = ()
    similarity: float | None = None
    text_similarity: float | None = None
    perplexity: float | None = None
    perplexity_before: float | None = None
    tags: tuple[tuple[str, str], ...] = ()

    @property
    def edited(self) -> EditedText:
        """Return the text with its edits."""
        return EditedText(CutText.of(self.text), self.edits)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {**asdict(self), "tags": [list(pair) for pair in self.tags]}

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Outcome:
        """Return the outcome that `to_dict` wrote.

        Raises:
            DataError: the values are not those of an outcome.
        """
        try:
            edits = tuple(Edit(**edit) for edit in row["edits"])
            found = cls(**{**row, "edits": edits, "tags": tuple((old, new) for old, new in row["tags"])})
            words = len(found.edited.cut.words)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"This is no outcome of an attack ({error}). Give a file that --out wrote.") from error
        if any(edit.kind not in KINDS or not 0 <= edit.place < words for edit in edits):
            raise DataError("An edit stands at a word that its text does not have. Give a file that --out wrote.")
        return found


@dataclass(frozen=True)
class Summary:
    """What an attack says of a classifier.

    Args:
        texts: that were looked at.
        accuracy: percent right before the attack.
        under_attack: percent right after it.
        success: percent of the right ones that were turned.
        similarity: mean cosine of found and original texts.
        changed: mean percent of words changed or added.
        queries: mean texts asked about, for each that was attacked.
        perplexity, perplexity_before: medians over found texts and their originals.
        stopped: texts on which a budget was spent.
    """

    texts: int
    accuracy: float
    under_attack: float
    success: float
    similarity: float | None
    changed: float | None
    queries: float
    perplexity: float | None
    perplexity_before: float | None
    stopped: int = 0
    tags: dict[str, int] = field(default_factory=dict)


def summarize(outcomes: Sequence[Outcome]) -> Summary:
    """Return the figures of an attack; percentages of all texts, or of those that were right before it."""
    right = [each for each in outcomes if each.result != WRONG]
    turned = [each for each in right if each.result == TURNED]
    held = len(right) - len(turned)
    tags: dict[str, int] = {}
    for old, new in (pair for each in turned for pair in each.tags):
        name = f"{old} → {new}" if old else f"+ {new}"
        tags[name] = tags.get(name, 0) + 1
    return Summary(
        texts=len(outcomes),
        accuracy=100 * len(right) / len(outcomes) if outcomes else 0.0,
        under_attack=100 * held / len(outcomes) if outcomes else 0.0,
        success=100 * len(turned) / len(right) if right else 0.0,
        similarity=_mean([each.text_similarity for each in turned]),
        changed=_mean([100 * len(each.edits) / len(each.edited.pieces) for each in turned]),
        queries=_mean([each.queries for each in right]) or 0.0,
        perplexity=_median([each.perplexity for each in turned]),
        perplexity_before=_median([each.perplexity_before for each in turned]),
        stopped=sum(each.result == STOPPED for each in outcomes),
        tags=dict(sorted(tags.items(), key=lambda pair: -pair[1])),
    )


def recheck(outcomes: Sequence[Outcome], victim: Victim, meaning: Meaning | None = None) -> list[str]:
    """Return a sentence for every reported text that does not hold when it is looked at anew, from what was saved.

    Args:
        outcomes: of an attack.
        victim: that was attacked.
        meaning: how texts were compared; without it only the answers are checked.
    """
    turned = [each for each in outcomes if each.result == TURNED]
    wrong: list[str] = []
    answers = victim([text for each in turned for text in (each.text, each.found or "")]).argmax(axis=1)
    near = meaning.of_edits([each.edited for each in turned]) if meaning is not None and meaning.reading.every else []
    for number, each in enumerate(turned):
        named = f"{each.found!r}"
        if each.edited.text != each.found:
            wrong.append(f"{named} is not what its edits make of the original.")
        if answers[2 * number] != each.label:
            wrong.append(f"{each.text!r} was not answered rightly before the attack.")
        if answers[2 * number + 1] == each.label or answers[2 * number + 1] != each.predicted:
            wrong.append(f"{named} does not turn the answer as reported.")
        if meaning is not None and near and near[number] < meaning.reading.threshold:
            wrong.append(f"{named} is less similar to the original than the threshold.")
    return wrong


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
