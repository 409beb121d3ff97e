"""Branching: the constituency baselines that know nothing but the order of the words.

Paper: Wu et al. 2020, "Perturbed Masking", Table 3
"""

from __future__ import annotations

import numpy as np

from mirrormask.probing.decoders.matrix import Spans


def right_branching(n: int) -> Spans:
    """Return the tree that splits off the first word each time.

    Example:
        >>> right_branching(4)
        [(0, 4), (1, 4), (2, 4)]
    """
    return [(start, n) for start in range(n - 1)]


def left_branching(n: int) -> Spans:
    """Return the tree that splits off the last word each time.

    Example:
        >>> left_branching(4)
        [(0, 4), (0, 3), (0, 2)]
    """
    return [(0, stop) for stop in range(n, 1, -1)]


def random_branching(n: int, rng: np.random.Generator) -> Spans:
    """Return a binary tree whose every split is drawn uniformly from the places it may be at.

    Example:
        >>> len(random_branching(7, np.random.default_rng(0)))
        6
    """
    spans: Spans = []
    waiting = [(0, n)] if n > 1 else []
    while waiting:
        start, stop = waiting.pop()
        spans.append((start, stop))
        cut = int(rng.integers(start + 1, stop))
        waiting += [part for part in ((cut, stop), (start, cut)) if part[1] - part[0] > 1]
    return spans
