"""The Chu-Liu-Edmonds algorithm: the dependency tree with the highest sum of scores, projective or not.

Paper: Chu and Liu 1965, "On the Shortest Arborescence of a Directed Graph"; Edmonds 1967, "Optimum Branchings"
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mirrormask.probing.decoders.matrix import ROOT, Heads, checked_root, root_row, square

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def chu_liu_edmonds(
    scores: ArrayLike, *, root_scores: ArrayLike | None = None, root: int | None = None, single_root: bool = True
) -> Heads:
    """Return the heads of the best tree.

    Args:
        scores: entry (i, j) is the score of word j as the head of word i (n, n); the diagonal is not read.
        root_scores: the score of each word as a root (n,); zeros where it is left out.
        root: the word that must be a root, where it is known.
        single_root: allow one root only; else any number of words may hang on the root.

    Example:
        >>> chu_liu_edmonds([[0, 1, 9, 1], [1, 0, 1, 9], [1, 1, 0, 2], [1, 1, 5, 0]], root=2).tolist()
        [2, 3, -1, 2]
    """
    arcs = square(scores, of="chu_liu_edmonds")
    n = len(arcs)
    root = checked_root(root, n, of="chu_liu_edmonds") if n else None
    roots = root_row(root_scores, n, of="chu_liu_edmonds")
    if n < 2:
        return np.full(n, ROOT, dtype=np.int64)
    if root is not None and single_root:
        found = _arborescence(_bounded(arcs), root)
        found[root] = ROOT
        return found
    wide = np.full((n + 1, n + 1), -np.inf)  # the last node is the root
    wide[:n, :n] = arcs
    wide[:n, n] = roots
    if root is not None:
        wide[root, :n] = -np.inf
    wide[np.diag_indices(n + 1)] = -np.inf
    wide = _bounded(wide)
    if single_root:
        low, high = wide[:n].min(), wide[:n].max()
        wide[:n, n] -= (n + 1) * (high - low + 1)  # a second root costs more than any other choice can gain
    found = _arborescence(wide, n)[:n]
    found[found == n] = ROOT
    return found


def _bounded(arcs: Floats) -> Floats:
    """Return the scores with -inf as a number so low that such an arc is taken only where there is no other."""
    finite = arcs[np.isfinite(arcs)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    return np.where(np.isfinite(arcs), arcs, low - (len(arcs) + 1) * (high - low + 1))


def _arborescence(arcs: Floats, root: int) -> Ints:
    """Return the head of every node in the best tree that hangs on `root`; cycles are contracted one by one."""
    arcs = arcs.copy()
    arcs[np.diag_indices(len(arcs))] = -np.inf
    heads = arcs.argmax(axis=1)
    heads[root] = root
    cycle = _cycle(heads.tolist(), root)
    if cycle is None:
        return heads
    inside = np.zeros(len(arcs), dtype=bool)
    inside[cycle] = True
    outer = np.flatnonzero(~inside)
    kept = arcs[cycle, heads[cycle]]
    # what entering the cycle at each of its nodes gains over keeping that node's head
    entering = arcs[np.ix_(cycle, outer)] - kept[:, None]  # (cycle, outer)
    leaving = arcs[np.ix_(outer, cycle)]  # (outer, cycle)
    entry, exit_ = entering.argmax(axis=0), leaving.argmax(axis=1)
    m = len(outer)
    small = np.empty((m + 1, m + 1))
    small[:m, :m] = arcs[np.ix_(outer, outer)]
    small[m, :m] = entering[entry, np.arange(m)]
    small[:m, m] = leaving[np.arange(m), exit_]
    within = _arborescence(small, int(np.searchsorted(outer, root)))
    found = heads.copy()
    found[outer] = np.where(within[:m] < m, outer[np.minimum(within[:m], m - 1)], cycle[exit_])
    found[cycle[entry[within[m]]]] = outer[within[m]]
    return found


def _cycle(heads: list[int], root: int) -> Ints | None:
    """Return the nodes of one cycle, or None."""
    seen = [0] * len(heads)
    seen[root] = -1
    for start in range(len(heads)):
        node = start
        while not seen[node]:
            seen[node] = start + 1
            node = heads[node]
        if seen[node] == start + 1:
            nodes = [node]
            while heads[nodes[-1]] != node:
                nodes.append(heads[nodes[-1]])
            return np.array(nodes)
    return None
