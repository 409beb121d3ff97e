"""Scores of dependency trees: UAS, UUAS and NED, over any arcs one wants to count.

Every gold arc counts once, that of the root included, as in the published code.

- UAS: the word has its gold head.
- UUAS: the gold arc is there, in either direction.
- NED, neutral edge direction (Schwartz et al. 2011): the word's head is its gold head, one of its gold dependents, or
  its gold grandparent, since annotations disagree about exactly these.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.tasks.dependencies import ROOT

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ArcCounts:
    """How many arcs were counted and how many were right; counts of several trees add up."""

    arcs: int = 0
    directed: int = 0
    undirected: int = 0
    neutral: int = 0

    def __add__(self, other: ArcCounts) -> ArcCounts:
        return ArcCounts(
            self.arcs + other.arcs,
            self.directed + other.directed,
            self.undirected + other.undirected,
            self.neutral + other.neutral,
        )

    def scores(self) -> dict[str, float]:
        """Return the three scores in percent, and the number of arcs."""
        whole = max(self.arcs, 1)
        return {
            "uas_percent": 100 * self.directed / whole,
            "uuas_percent": 100 * self.undirected / whole,
            "ned_percent": 100 * self.neutral / whole,
            "arcs": self.arcs,
        }


def count_arcs(heads: Ints, gold: Ints, counted: NDArray[np.bool_] | None = None) -> ArcCounts:
    """Return the counts of one tree.

    Args:
        heads: the head each word was given (n,).
        gold: the head it has (n,).
        counted: which words' gold arcs count (n,); all by default.

    Example:
        >>> count_arcs(np.array([1, 2, -1]), np.array([-1, 0, 1]))
        ArcCounts(arcs=3, directed=0, undirected=2, neutral=2)
    """
    words = np.arange(len(gold))
    counted = np.ones(len(gold), dtype=bool) if counted is None else counted
    right = heads == gold
    reverse_found = (gold >= 0) & (heads[np.maximum(gold, 0)] == words)  # the gold head hangs on the word
    reverse_taken = (heads >= 0) & (gold[np.maximum(heads, 0)] == words)  # the word hangs on its gold dependent
    grandparent = (gold >= 0) & (heads == gold[np.maximum(gold, 0)])
    return ArcCounts(
        int(counted.sum()),
        int((right & counted).sum()),
        int(((right | reverse_found) & counted).sum()),
        int(((right | reverse_taken | grandparent) & counted).sum()),
    )


def count_by_distance(heads: Ints, gold: Ints, counted: NDArray[np.bool_]) -> dict[int, tuple[int, int]]:
    """Return, for each number of units between a gold head and its dependent, how many arcs there are and were found.

    Arcs of the root have no distance and are left out.
    """
    real = counted & (gold != ROOT)
    between = np.abs(np.arange(len(gold)) - gold) - 1
    found: dict[int, tuple[int, int]] = {}
    for distance in np.unique(between[real]).tolist():
        here = real & (between == distance)
        found[int(distance)] = (int(here.sum()), int((here & (heads == gold)).sum()))
    return found
