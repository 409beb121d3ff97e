"""Random dependency trees: what chance alone scores."""

from __future__ import annotations

import numpy as np

from mirrormask.probing.decoders.eisner import eisner
from mirrormask.probing.decoders.matrix import ROOT, Heads, checked_root


def random_tree(n: int, rng: np.random.Generator, root: int | None = None) -> Heads:
    """Return a tree drawn uniformly from all trees over n words (all that hang on `root`, where one is given).

    A uniform sequence of Prüfer is a uniform tree without directions; the root directs it.

    Example:
        >>> heads = random_tree(6, np.random.default_rng(0), root=2)
        >>> int(heads[2]), int((heads == ROOT).sum())
        (-1, 1)
    """
    checked_root(root, n, of="random_tree")
    if n < 2:
        return np.full(n, ROOT, dtype=np.int64)
    code = rng.integers(n, size=n - 2).tolist()
    degree = np.bincount(np.array(code, dtype=np.int64), minlength=n) + 1
    edges: list[list[int]] = [[] for _ in range(n)]
    for node in code:
        leaf = int(np.argmin(np.where(degree == 1, 0, 1)))
        edges[leaf].append(node)
        edges[node].append(leaf)
        degree[leaf] -= 1
        degree[node] -= 1
    first, second = np.flatnonzero(degree == 1).tolist()
    edges[first].append(second)
    edges[second].append(first)
    top = int(rng.integers(n)) if root is None else root
    heads = np.full(n, ROOT, dtype=np.int64)
    waiting = [top]
    while waiting:
        head = waiting.pop()
        for node in edges[head]:
            if node != heads[head]:
                heads[node] = head
                waiting.append(node)
    return heads


def random_projective_tree(n: int, rng: np.random.Generator, root: int | None = None) -> Heads:
    """Return the projective tree that Eisner's algorithm reads from uniform noise: chance under the same decoder."""
    return eisner(rng.random((n, n)), root_scores=rng.random(n), root=root)
