"""Small piles of texts; all text here is written for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.exploring.texts import Texts

SUBJECTS = {
    "weather": ("rain", "cloud", "storm", "wind", "snow"),
    "kitchen": ("oven", "bread", "flour", "spoon", "salt"),
    "music": ("violin", "piano", "choir", "drum", "song"),
}


@pytest.fixture
def pile() -> Texts:
    """Ninety sentences on three subjects."""
    random = np.random.default_rng(0)
    texts = []
    for number in range(90):
        words = list(SUBJECTS.values())[number % 3]
        one, two, three = random.permutation(words)[:3]
        texts.append(f"The {one} and the {two} are with the {three} in the year {1000 + 7 * number}.")
    return Texts("pile.txt", texts, [f"pile.txt:{row}" for row in range(1, 91)])


class ByWords:
    """A stand-in with the surface of an encoder: a text is what words of the subjects it holds, a little blurred."""

    words = tuple(word for words in SUBJECTS.values() for word in words)

    def vectors(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector per text, the same for the same text."""
        found = []
        for text in texts:
            counts = np.array([text.lower().count(word) for word in self.words], dtype=np.float32)
            blur = np.random.default_rng(len(text) + sum(map(ord, text))).normal(0, 0.15, len(counts))
            found.append(counts + blur)
        return np.array(found, dtype=np.float32)


@pytest.fixture
def by_words(monkeypatch: pytest.MonkeyPatch) -> ByWords:
    """Let the rooms encode with counts of words instead of a model."""
    made = ByWords()

    def encode(texts: Sequence[str], model: Any, **options: Any) -> NDArray[np.float32]:
        return made.vectors(texts)

    monkeypatch.setattr("mirrormask.exploring.duplicates.encode", encode)
    monkeypatch.setattr("mirrormask.exploring.text_map.encode", encode)
    return made
