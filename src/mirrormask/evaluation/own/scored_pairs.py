"""The user's scored pairs: how well cosines rank them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.similarity import paired_cosine
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.resamples import Statistic, pearson_of, spearman_of
from mirrormask.evaluation.vectors import TextVectors

POSITIVE_SHARE = 0.8
"""Pairs above this share of the score's range are positives: above 4 on a scale from 0 to 5."""


class ScoredPairs(OwnTask):
    """Pairs of texts with a gold score.

    Args:
        source: the file, for messages.
        left, right: the two sides of each pair.
        scores: gold scores, higher meaning more alike.
        scale: lowest and highest possible score; by default what the scores look like.
    """

    kind = "pairs"
    unit = "pairs"
    primary = "spearman_percent"

    def __init__(
        self,
        source: str,
        left: Sequence[str],
        right: Sequence[str],
        scores: Sequence[float] | NDArray[np.float64],
        scale: tuple[float, float] | None = None,
    ) -> None:
        super().__init__(source, len(scores))
        self.left, self.right = left, right
        self.scores = np.array(scores, dtype=np.float64)
        if np.ptp(self.scores) == 0:
            raise DataError(
                f"All {len(scores)} scores of {source} are {self.scores[0]:g}, and nothing can be ranked by them. "
                "Give pairs with at least two different scores."
            )

        self.scale = scale or likely_scale(self.scores)
        self.positive_above = self.scale[0] + POSITIVE_SHARE * (self.scale[1] - self.scale[0])

    def roles(self) -> Mapping[str, Iterable[str]]:
        """Return both sides, without a role."""
        return {"": [*self.left, *self.right]}

    def similarities(self, vectors: TextVectors) -> NDArray[np.float64]:
        """Return the cosine of every pair (n,)."""
        return paired_cosine(vectors.of(self.left), vectors.of(self.right))

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return Spearman's and Pearson's correlation of the cosines with the scores."""
        cosines = self.similarities(vectors)
        return {
            "spearman_percent": spearman_of(cosines, self.scores),
            "pearson_percent": pearson_of(cosines, self.scores),
        }

    def positives(self, vectors: TextVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return both sides of the pairs whose score lies above four fifths of the scale."""
        chosen = np.flatnonzero(self.scores > self.positive_above).tolist()
        left, right = ([side[row] for row in chosen] for side in (self.left, self.right))
        return vectors.of(left), vectors.of(right)


def likely_scale(scores: NDArray[np.floating]) -> tuple[float, float]:
    """Return the scale scores seem to be on: from 0, or the lowest if below, to 1, 4, 5, 10 or 100, or the highest.

    Example:
        >>> likely_scale(np.array([0.2, 3.0, 4.8])), likely_scale(np.array([-1.0, 0.95]))
        ((0.0, 5.0), (-1.0, 1.0))
    """
    low, high = min(0.0, float(scores.min())), float(scores.max())
    return low, next((float(top) for top in (1, 4, 5, 10, 100) if 0.9 * top <= high <= top), high)
