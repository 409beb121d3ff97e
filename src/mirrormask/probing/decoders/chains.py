"""Chains: the baselines that know nothing but the order of the words.

Paper: Wu et al. 2020, "Perturbed Masking", Table 1
"""

from __future__ import annotations

import numpy as np

from mirrormask.probing.decoders.matrix import ROOT, Heads, checked_root


def right_chain(n: int, root: int | None = None) -> Heads:
    """Return the tree in which every word's head is the next word; the last has none.

    A root that is given has no head either, and the last word still has none, so that there are two roots: what the
    published code scores, which points the last word past the end of the sentence.

    Example:
        >>> right_chain(4).tolist(), right_chain(4, root=1).tolist()
        ([1, 2, 3, -1], [1, -1, 3, -1])
    """
    checked_root(root, n, of="right_chain")
    heads = np.arange(1, n + 1, dtype=np.int64)
    heads[n - 1 :] = ROOT
    if root is not None:
        heads[root] = ROOT
    return heads


def left_chain(n: int, root: int | None = None) -> Heads:
    """Return the tree in which every word's head is the word before it; the first has none, nor has a given root.

    Example:
        >>> left_chain(4).tolist(), left_chain(4, root=2).tolist()
        ([-1, 0, 1, 2], [-1, 0, -1, 2])
    """
    checked_root(root, n, of="left_chain")
    heads = np.arange(-1, n - 1, dtype=np.int64)
    if root is not None:
        heads[root] = ROOT
    return heads


def both_chains(n: int, root: int) -> Heads:
    """Return the tree of all arcs between neighbors that hangs on `root`: right chain before it, left chain after it.

    It has every arc a chain can have, so no other chain has a higher UUAS.

    Example:
        >>> both_chains(5, root=2).tolist()
        [1, 2, -1, 2, 3]
    """
    checked_root(root, n, of="both_chains")
    place = np.arange(n, dtype=np.int64)
    heads = np.where(place < root, place + 1, place - 1)
    heads[root] = ROOT
    return heads


def flat_tree(n: int, root: int) -> Heads:
    """Return the tree in which every word hangs on the root: what knowing the root alone is worth.

    Example:
        >>> flat_tree(4, root=1).tolist()
        [1, -1, 1, 1]
    """
    checked_root(root, n, of="flat_tree")
    heads = np.full(n, root, dtype=np.int64)
    heads[root] = ROOT
    return heads
