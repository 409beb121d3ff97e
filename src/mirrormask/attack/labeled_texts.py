"""Texts with one class each, to attack or to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.seeding import generator
from mirrormask.data.tasks.classified import read_classified


@dataclass(frozen=True)
class LabeledTexts:
    """Texts and their classes.

    Args:
        name: of the source.
        texts: none of them empty.
        labels: the name of each one's class.
    """

    name: str
    texts: list[str] = field(repr=False)
    labels: list[str] = field(repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    def __add__(self, other: LabeledTexts) -> LabeledTexts:
        return LabeledTexts(self.name, self.texts + other.texts, self.labels + other.labels)

    @property
    def names(self) -> list[str]:
        """Return the names of the classes: numbers by size, others by letter."""
        return sorted(set(self.labels), key=lambda name: (0, int(name), "") if name.isdecimal() else (1, 0, name))

    def take(self, places: Sequence[int] | NDArray[np.int64]) -> LabeledTexts:
        """Return some of the texts."""
        return LabeledTexts(self.name, [self.texts[i] for i in places], [self.labels[i] for i in places])

    def sample(self, count: int, seed: int) -> LabeledTexts:
        """Return so many texts, drawn by the seed and in their order; all where there are no more."""
        if count >= len(self):
            return self
        return self.take(np.sort(generator(seed, "sample").permutation(len(self))[:count]))


def read_labeled(source: Path | str, *, text: str = "", label: str = "") -> LabeledTexts:
    """Read texts with a label each.

    Args:
        source: a file of any format, or a dataset as `owner/name:split`.
        text, label: their columns; by default the first usual names that are there.

    Raises:
        DataError: the file cannot be read, or a row lacks its text or has not one label.
    """
    found = read_classified(source, text=text, label=label)
    for number, labels in enumerate(found.labels, 1):
        if len(labels) != 1:
            raise DataError(
                f"{source}, row {number}, has {len(labels)} labels. Attacks are on texts with one class each."
            )
    return LabeledTexts(str(source), list(found.texts), [labels[0] for labels in found.labels])
