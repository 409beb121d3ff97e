"""Eisner's algorithm: the projective dependency tree with the highest sum of scores.

Paper: Eisner 1996, "Three New Probabilistic Models for Dependency Parsing"

Spans of one width are filled together. A chart indexed by (start, width) next to the same chart indexed by
(end, width) makes every split of every span of a width one sum of two plain slices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mirrormask.probing.decoders.matrix import ROOT, Heads, checked_root, root_row, square

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def eisner(
    scores: ArrayLike, *, root_scores: ArrayLike | None = None, root: int | None = None, single_root: bool = True
) -> Heads:
    """Return the heads of the best projective tree.

    Args:
        scores: entry (i, j) is the score of word j as the head of word i (n, n); the diagonal is not read.
        root_scores: the score of each word as a root (n,); zeros where it is left out.
        root: the word that must be a root, where it is known.
        single_root: allow one root only; else any number of words may hang on the root.

    Example:
        >>> eisner([[0, 5, 1], [1, 0, 1], [1, 5, 0]]).tolist()
        [1, -1, 1]
    """
    arcs = square(scores, of="eisner")
    n = len(arcs)
    root = checked_root(root, n, of="eisner") if n else None
    roots = root_row(root_scores, n, of="eisner")
    heads = np.full(n, ROOT, dtype=np.int64)
    if n < 2:
        return heads
    if single_root:
        chart = _fill(arcs)
        if root is None:
            place = np.arange(n)
            root = int(np.argmax(chart.left_by_end[place, place] + chart.right[place, n - 1 - place] + roots))
        chart.trace([(0, root, "left"), (root, n - 1 - root, "right")], heads)
        return heads
    wide = np.full((n + 1, n + 1), -np.inf)  # node 0 is the root, a head of words and never a dependent
    wide[1:, 1:] = arcs
    wide[1:, 0] = roots
    if root is not None:
        wide[root + 1, 1:] = -np.inf
    found = np.full(n + 1, ROOT, dtype=np.int64)
    _fill(wide).trace([(0, n, "right")], found)
    return found[1:] - 1


@dataclass(frozen=True)
class _Chart:
    """Best spans (start, width) whose head is their left or right end, and where each was split."""

    right: Floats
    left_by_end: Floats
    cut_arc: Ints
    cut_right: Ints
    cut_left: Ints

    def trace(self, spans: list[tuple[int, int, str]], heads: Heads) -> None:
        """Write the heads inside the given complete spans (start, width, side the dependents are on)."""
        arc, right, left = self.cut_arc.tolist(), self.cut_right.tolist(), self.cut_left.tolist()
        while spans:
            start, width, side = spans.pop()
            if not width:
                continue
            if side == "right":  # head at the start: an arc of width `cut`, then what its dependent heads
                cut = right[start][width]
                spans.append((start + cut, width - cut, "right"))
                low, wide = start, cut
                heads[start + cut] = start
            else:
                cut = left[start][width]
                spans.append((start, cut, "left"))
                low, wide = start + cut, width - cut
                heads[low] = start + width
            cut = arc[low][wide]
            spans.append((low, cut, "right"))
            spans.append((low + cut + 1, wide - cut - 1, "left"))


def _fill(arcs: Floats) -> _Chart:
    n = len(arcs)
    right, right_by_end, left, left_by_end, arc_right, arc_left_by_end = np.zeros((6, n, n))
    cut_arc, cut_right, cut_left = np.zeros((3, n, n), dtype=np.int64)
    rows = np.arange(n)
    for width in range(1, n):
        count = n - width
        here = rows[:count]
        halves = right[:count, :width] + left_by_end[width:, width - 1 :: -1]  # (count, width): where the two meet
        cut = halves.argmax(axis=1)
        cut_arc[:count, width] = cut
        best = halves[here, cut]
        arc_right[:count, width] = best + arcs.diagonal(-width)
        arc_left_by_end[width:, width] = best + arcs.diagonal(width)

        halves = arc_right[:count, 1 : width + 1] + right_by_end[width:, width - 1 :: -1]
        cut = halves.argmax(axis=1)
        cut_right[:count, width] = cut + 1
        right[:count, width] = right_by_end[width:, width] = halves[here, cut]

        halves = left[:count, :width] + arc_left_by_end[width:, width:0:-1]
        cut = halves.argmax(axis=1)
        cut_left[:count, width] = cut
        left[:count, width] = left_by_end[width:, width] = halves[here, cut]
    return _Chart(right, left_by_end, cut_arc, cut_right, cut_left)
