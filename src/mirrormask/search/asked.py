"""What a search asks of an index, wherever that is kept: its words, its vectors, and what their passages are.

Passages are numbered by rows. What may be found is said by an `allowed` that only the index itself looks into: a mask
of its rows, or a condition in SQL; None is everything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

FIRST = 10
"""Hits by words of which the first is compared with the last."""


@dataclass(frozen=True)
class WordHits:
    """The first hits by words, and how the scores of all passages lie.

    Args:
        rows: that were found or asked for, ascending.
        scores: of these rows.
        highest: the `FIRST` highest scores of all passages, ascending; fewer where fewer are above 0.
        mean, deviation: of the scores of all passages.
    """

    rows: Rows
    scores: Floats
    highest: Floats
    mean: float
    deviation: float


class Words(Protocol):
    """The terms of passages."""

    def counts(self, query: str) -> dict[str, float]:
        """Return how often a query names each term."""
        ...

    def first(self, weights: Mapping[str, float], depth: int, allowed: Any, beside: Rows) -> WordHits:
        """Return the `depth` best passages above 0 for weighted terms, and those `beside` them with their scores."""
        ...

    def scores_of(self, weights: Mapping[str, float], rows: Rows) -> Floats:
        """Return what terms with weights give some passages (m,), in ascending order."""
        ...

    def telling(self, rows: Rows, shares: Floats, most: int) -> dict[str, float]:
        """Return how telling the terms of some passages are."""
        ...


class Vectors(Protocol):
    """The vectors of passages."""

    def search(self, queries: Floats, top: int, allowed: Any = None) -> tuple[Floats, Rows]:
        """Return scores and rows of the nearest vectors of each query (q, top), best first; row -1 is none."""
        ...

    def compared(self, query: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """Return how near some rows are to a query (n,), and their vectors (n, d)."""
        ...

    def moments(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return mean and standard deviation of all rows' scores for each query."""
        ...


class KnownVectors(Vectors, Protocol):
    """The vectors of an index, which knows how they lie."""

    @property
    def concentration(self) -> float:
        """Return how far neighbors stand out among the vectors."""
        ...


@dataclass(frozen=True)
class Told:
    """What is told of a passage: its document's id and metadata, its text, and where it stands there."""

    id: str
    passage: str
    place: tuple[int, int]
    metadata: dict[str, Any]


class Passages(Protocol):
    """An index as it is at one moment."""

    @property
    def words(self) -> Words:
        """Return the terms of passages."""
        ...

    @property
    def vectors(self) -> KnownVectors:
        """Return the vectors of passages."""
        ...

    def __len__(self) -> int:
        """Return how many passages there are, or were."""
        ...

    def allowed(self, where: str | None, but: Rows | None = None) -> Any:
        """Return what meets a condition, some rows left out."""
        ...

    def owners(self, rows: Rows) -> Rows:
        """Return the number of the document of each row."""
        ...

    def documents(self, allowed: Any) -> int:
        """Return how many documents may be found."""
        ...

    def rows_of(self, identity: str) -> Rows:
        """Return the rows of the passages of a document; none where there is no such document."""
        ...

    def some_ids(self) -> list[str]:
        """Return some ids, to offer one for an id that is not there."""
        ...

    def ids(self, rows: Rows) -> list[str]:
        """Return the id of the document of each row."""
        ...

    def told(self, rows: Rows) -> Sequence[Told]:
        """Return what is told of some passages."""
        ...

    def mean_vector(self, rows: Rows) -> Floats:
        """Return the mean of the vectors of some passages (d,)."""
        ...
