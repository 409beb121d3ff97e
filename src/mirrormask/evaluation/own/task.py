"""What every kind of the user's own data can do: name its texts, and score the vectors of a model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.evaluation.statistics.resamples import Statistic
from mirrormask.evaluation.vectors import TextVectors

MIN_UNITS = 10
"""Fewest pairs, queries or texts to measure on; with fewer an interval says nothing."""


class OwnTask(ABC):
    """The user's data, read and checked.

    Args:
        source: the file, for messages.
        units: number of pairs, queries or texts that are resampled.
        notes: what was left out or should be known beside the numbers.
    """

    kind: ClassVar[str]
    unit: ClassVar[str]
    primary: ClassVar[str]
    """The metric the verdict is about."""

    def __init__(self, source: str, units: int, notes: Iterable[str] = ()) -> None:
        if units < MIN_UNITS:
            raise DataError(f"{source} has {units} {self.unit}, and at least {MIN_UNITS} are needed. Give more rows.")
        self.source = source
        self.units = units
        self.notes = tuple(notes)

    @abstractmethod
    def roles(self) -> Mapping[str, Iterable[str]]:
        """Return the texts to encode by role: "query", "document", or "" for plain texts."""

    @abstractmethod
    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return one statistic of the units for each metric."""

    def positives(self, vectors: TextVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]] | None:
        """Return both sides of the pairs that mean the same, for alignment, or None."""
        return None
