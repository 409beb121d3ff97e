"""Chains: the baselines that know nothing but the order of the words.

Paper: Wu et al. 2020, "Perturbed Masking", Table 1
"""

from __future__ import annotations

import numpy as np

from mirrormask.probing.decoders.matrix import ROOT, Heads, checked_root


def right_chain(n: int, root: int | None = None) -> Heads:
    """Return the tree in which every word's head is the next word.

    The last word is the root. Where another root is given, the last word hangs on it; the published code points the
    last word past the end of the sentence, which is no tree and scores the same or less.

    Example:
        >>> right_chain(4).tolist(), right_chain(4, root=1).tolist()
        ([1, 2, 3, -1], [1, -1, 3, 1])
    """
    checked_root(root, n, of="right_chain")
    heads = np.arange(1, n + 1, dtype=np.int64)
    if n:
        heads[-1] = ROOT if root is None else root
        heads[n - 1 if root is None else root] = ROOT
    return heads


def left_chain(n: int, root: int | None = None) -> Heads:
    """Return the tree in which every word's head is the word before it.

    The first word is the root. Where another root is given, the first word hangs on it.

    Example:
        >>> left_chain(4).tolist(), left_chain(4, root=2).tolist()
        ([-1, 0, 1, 2], [2, 0, -1, 2])
    """
    checked_root(root, n, of="left_chain")
    heads = np.arange(-1, n - 1, dtype=np.int64)
    if n and root is not None:
        heads[0] = root
        heads[root] = ROOT
    return heads
