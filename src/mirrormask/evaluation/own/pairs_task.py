"""The user's scored pairs: how well cosines rank them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.similarity import paired_cosine
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.resamples import Statistic, pearson_of, spearman_of
from mirrormask.evaluation.vectors import TextVectors


class PairsTask(OwnTask):
    """Pairs of texts with a gold score, to be ranked by their cosines.

    Args:
        pairs: read and checked.
    """

    kind = "pairs"
    unit = "pairs"
    primary = "spearman_percent"

    def __init__(self, pairs: ScoredPairs) -> None:
        super().__init__(pairs.source, len(pairs))
        self.pairs = pairs
        if np.ptp(pairs.scores) == 0:
            raise DataError(
                f"All {len(pairs)} scores of {pairs.source} are {pairs.scores[0]:g}, and nothing can be ranked by "
                "them. Give pairs with at least two different scores."
            )

    def roles(self) -> Mapping[str, Iterable[str]]:
        """Return both sides, without a role."""
        return {"": [*self.pairs.sentence1, *self.pairs.sentence2]}

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return Spearman's and Pearson's correlation of the cosines with the scores."""
        cosines, gold = similarities(self.pairs, vectors), self.pairs.scores
        return {"spearman_percent": spearman_of(cosines, gold), "pearson_percent": pearson_of(cosines, gold)}

    def positives(self, vectors: TextVectors) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return both sides of the pairs whose score lies above four fifths of the scale."""
        chosen = np.flatnonzero(self.pairs.scores > self.pairs.positive_above).tolist()
        left, right = ([side[row] for row in chosen] for side in (self.pairs.sentence1, self.pairs.sentence2))
        return vectors.of(left), vectors.of(right)


def similarities(pairs: ScoredPairs, vectors: TextVectors) -> NDArray[np.float64]:
    """Return the cosine of every pair (n,)."""
    return paired_cosine(vectors.of(pairs.sentence1), vectors.of(pairs.sentence2))
