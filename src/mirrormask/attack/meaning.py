"""Does an edited text still mean the same? Sentence vectors of a window around each change, compared by cosine.

The published attacks read one threshold in three ways, and texts shorter than the window in two.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from mirrormask.attack.edited_text import EditedText
from mirrormask.attack.universal import UniversalEncoder
from mirrormask.core.errors import MirrormaskError, between
from mirrormask.core.similarity import unit_rows

USE = "use"
"""The name of the Universal Sentence Encoder, multilingual, version 3."""

WINDOW = 15
_REMEMBERED = 4096  # vectors of originals
_SURE = 1e-5  # what a cosine may differ by when texts are encoded in other company


@dataclass(frozen=True)
class Reading:
    """How the similarity of two texts is asked for.

    Args:
        name: of the reading.
        threshold: the least cosine.
        window: words around a change that are compared; 0 compares whole texts.
        short: whether texts shorter than the window are compared whole; otherwise they are accepted as they are.
        original: whether the original is compared with; otherwise the text before the latest edit.
        every: whether all windows that an edit changes must pass, not only its own.
    """

    name: str
    threshold: float
    window: int = WINDOW
    short: bool = True
    original: bool = True
    every: bool = True


PUBLISHED = {
    "textfooler": Reading("textfooler", math.cos(0.2), short=False, original=False, every=False),
    "textattack": Reading("textattack", 0.936338023, short=False, every=False),
    "openattack": Reading("openattack", 0.936, window=0, every=False),
}
"""The released codes' readings of "similarity at least 0.8".

TextFooler's, which BAE's authors took over, is 1 − arccos(cosine) ≥ 0.8, an angle of 0.2 rad. TextAttack's is that
angle over π, 0.936, taken for a cosine. OpenAttack's is 0.936 over the whole text.
"""

CALIBRATED = "calibrated"
READINGS = (CALIBRATED, *PUBLISHED)


class TextEncoder(Protocol):
    """Texts in, vectors (n, d) out."""

    def __call__(self, texts: Sequence[str]) -> NDArray[np.floating[Any]]:
        """Return the vectors of the texts."""


def open_encoder(name: str | Path) -> TextEncoder:
    """Return what compares meanings: `use`, or any sentence encoder by name or folder."""
    if str(name) == USE:
        return UniversalEncoder()
    from mirrormask.models.bulk import encode_texts
    from mirrormask.models.encoder import load

    encoder = load(name)
    return lambda texts: encode_texts(encoder, list(texts), precision="fp32")


class Meaning:
    """Compares edited texts with what they were.

    Args:
        encoder: of texts.
        reading: how it is asked.
    """

    def __init__(self, encoder: TextEncoder, reading: Reading) -> None:
        between("threshold", reading.threshold, -1, 1, of="an attack")
        self.encoder, self.reading = encoder, reading
        self._known: OrderedDict[str, NDArray[np.float32]] = OrderedDict()

    def windows(self, text: EditedText, kind: str, place: int) -> list[tuple[str, str, str]]:
        """Return, for each window to compare, the other text and what stands around the new word in this one."""
        reading, count = self.reading, len(text.pieces)
        other = EditedText(text.cut) if reading.original else text
        centers = [place, *(each for each in text.places if each != place)] if reading.every else [place]
        found: dict[tuple[int, int], tuple[str, str, str]] = {}
        for center in centers:
            start, stop = _span(center, count, reading.window)
            if start <= place < stop and (start, stop) not in found:
                whole = (start, stop) == (0, count)
                inside = (0, None) if whole else (start, stop)
                left = other.text if whole else other.window(start, stop)
                found[start, stop] = (left, *text.slot(kind, place, *inside))
        return list(found.values())

    def similarities(
        self, windows: Sequence[tuple[str, str, str]], words: Sequence[Sequence[str]]
    ) -> list[NDArray[np.float64]]:
        """Return the cosine of each window's text with each of its words put in, one array for each window."""
        texts = [
            f"{before}{word}{after}" for (_, before, after), each in zip(windows, words, strict=True) for word in each
        ]
        new = [left for left in dict.fromkeys(left for left, _, _ in windows) if left not in self._known]
        vectors = unit_rows(np.asarray(self.encoder([*new, *texts]), np.float64)) if texts else np.empty((0, 1))
        if not np.isfinite(vectors).all():
            raise MirrormaskError("The encoder that compares meanings gives vectors that are no numbers. Name another.")
        for left, vector in zip(new, vectors, strict=False):
            self._known[left] = vector
        found, start = [], len(new)
        for (left, _, _), each in zip(windows, words, strict=True):
            found.append(vectors[start : start + len(each)] @ self._known[left])
            start += len(each)
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return found

    def lenient(self, text: EditedText) -> bool:
        """Say whether a text is so short that the reading accepts whatever is done to it."""
        return not self.reading.short and len(text.pieces) < self.reading.window

    def passes(self, similarity: float) -> bool:
        """Say whether a similarity is surely at the threshold or above it."""
        return similarity >= self.reading.threshold + _SURE

    def pairs(self, text: EditedText) -> list[tuple[str, str]]:
        """Return the windows around all edits as they stand in the end, each beside the original's."""
        count = len(text.pieces)
        spans = {_span(place, count, self.reading.window) for place in text.places}
        plain = EditedText(text.cut)
        return [
            (plain.text, text.text) if span == (0, count) else (plain.window(*span), text.window(*span))
            for span in sorted(spans)
        ]

    def of_edits(self, texts: Sequence[EditedText]) -> list[float]:
        """Return, for each text, the least similarity of the windows around its edits."""
        pairs = [self.pairs(text) for text in texts]
        values = iter(self.of_pairs([pair for each in pairs for pair in each]))
        return [min((next(values) for _ in each), default=1.0) for each in pairs]

    def of_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the cosines of pairs of texts."""
        if not pairs:
            return []
        vectors = unit_rows(np.asarray(self.encoder([text for pair in pairs for text in pair]), np.float64))
        return [float(value) for value in (vectors[::2] * vectors[1::2]).sum(axis=1)]


def _span(place: int, count: int, window: int) -> tuple[int, int]:
    """Return the words of a window around a place; of a text that is no longer, all."""
    if not window or count <= window:
        return 0, count
    start = min(max(0, place - window // 2), count - window)
    return start, start + window
