"""A small classifier over words written for the tests, and models built in code."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.attack.labeled_texts import LabeledTexts
from mirrormask.attack.meaning import Meaning, Reading
from mirrormask.attack.proposals import Slot
from mirrormask.attack.victims import Victim
from mirrormask.attack.word_classifiers import tokens_of

GOOD = ("lovely", "warm", "clever", "bright", "honest")
BAD = ("dull", "cold", "clumsy", "gray", "hollow")


def bag_vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return counts of words in 64 bins, and one more that is always there: near where most words are the same."""
    out = np.zeros((len(texts), 65))
    out[:, -1] = 0.5
    for row, text in enumerate(texts):
        for word in tokens_of(text):
            out[row, sum(word.encode()) % 64] += 1
    return out


def score(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return probabilities of bad and good: a logistic of how many more good words than bad ones there are."""
    gain = np.array([sum((w in GOOD) - (w in BAD) for w in tokens_of(text)) for text in texts], dtype=float)
    good = 1 / (1 + np.exp(-(gain + 0.25)))
    return np.stack([1 - good, good], axis=1)


@pytest.fixture
def victim() -> Victim:
    return Victim(score, name="word counter", labels=("bad", "good"))


@pytest.fixture
def meaning() -> Meaning:
    return Meaning(bag_vectors, Reading("calibrated", 0.5))


@pytest.fixture
def proposer() -> Callable[[Sequence[Slot]], list[list[str]]]:
    """Return what proposes the same words everywhere, as a model without a context would."""
    words = ["plain", "dull", "cold", "green", "hollow", "table"]
    return lambda slots: [[word for word in words if word != slot.word.lower()] for slot in slots]


@pytest.fixture(scope="session")
def reviews() -> LabeledTexts:
    """Sixty short reviews of two classes, written here."""
    things = ("film", "story", "song", "play", "book", "scene")
    rows = [(f"a {word} {thing} about the river", "good") for thing in things for word in GOOD]
    rows += [(f"a {word} {thing} about the river", "bad") for thing in things for word in BAD]
    return LabeledTexts("reviews", [text for text, _ in rows], [label for _, label in rows])


@pytest.fixture
def review_file(tmp_path: Path, reviews: LabeledTexts) -> Path:
    path = tmp_path / "reviews.csv"
    rows = zip(reviews.texts, reviews.labels, strict=True)
    path.write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows), encoding="utf-8")
    return path
