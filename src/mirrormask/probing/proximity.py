"""How near each word of a sentence is to a term in it: in the text, or along a tree.

Paper: Zhang, Li and Song 2019, "Syntax-Aware Aspect-Level Sentiment Classification with Proximity-Weighted
Convolution Network", equations 2 and 3

Along a tree of arcs between neighbors, that is a right or a left chain, the distance is that in the text. So weights
by a chain and by position are equal, and what a table shows between those rows is chance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def text_distances(n: int, start: int, stop: int) -> NDArray[np.int64]:
    """Return how many steps each of n words is from the nearest word of the term.

    Example:
        >>> text_distances(6, 2, 4).tolist()
        [2, 1, 0, 0, 1, 2]
    """
    place = np.arange(n)
    return np.maximum(np.maximum(start - place, place - (stop - 1)), 0)


def tree_distances(heads: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
    """Return how many arcs, in either direction, each word is from the nearest word of the term; n where none leads.

    Example:
        >>> tree_distances(np.array([1, -1, 1, 2]), 3, 4).tolist()
        [3, 2, 1, 0]
    """
    n = len(heads)
    edges: list[list[int]] = [[] for _ in range(n)]
    for word, head in enumerate(heads.tolist()):
        if head >= 0:
            edges[word].append(head)
            edges[head].append(word)
    found = np.full(n, n, dtype=np.int64)
    found[start:stop] = 0
    frontier = list(range(start, stop))
    step = 0
    while frontier:
        step += 1
        frontier = [near for word in frontier for near in edges[word] if found[near] == n]
        found[frontier] = step
        frontier = list(dict.fromkeys(frontier))
    return found


def proximity(distances: NDArray[np.int64]) -> Floats:
    """Return the weight of each word: one less its share of the sentence in distance, and 0 for the term itself.

    Example:
        >>> proximity(np.array([2, 1, 0, 1])).tolist()
        [0.5, 0.75, 0.0, 0.75]
    """
    weights = 1.0 - distances / max(len(distances), 1)
    return np.where(distances == 0, 0.0, weights).astype(np.float32)
