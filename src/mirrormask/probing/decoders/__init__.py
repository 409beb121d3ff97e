"""Decoders: from a matrix of scores to a tree, as pure functions on numpy arrays.

A dependency tree over n words is an array of n heads: the place of each word's head, counted from 0, and `ROOT` (-1)
for a word without one. Scores have one row per dependent and one column per head, as impact matrices do: entry (i, j)
is what word j does to word i. A constituency tree is the list of its spans `(start, stop)` of two or more words,
outer before inner and left before right.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from mirrormask.probing.decoders.branching import left_branching, random_branching, right_branching
from mirrormask.probing.decoders.chains import both_chains, flat_tree, left_chain, right_chain
from mirrormask.probing.decoders.chu_liu_edmonds import chu_liu_edmonds
from mirrormask.probing.decoders.eisner import eisner
from mirrormask.probing.decoders.mart import mart
from mirrormask.probing.decoders.matrix import ROOT, Heads, Spans
from mirrormask.probing.decoders.random_tree import random_projective_tree, random_tree

DEPENDENCY_DECODERS: dict[str, Callable[..., NDArray[np.int64]]] = {"eisner": eisner, "cle": chu_liu_edmonds}
"""Decoders of dependency trees by name; each takes `scores`, `root_scores`, `root` and `single_root`."""

CONSTITUENCY_DECODERS: tuple[str, ...] = ("mart", "mart-paper", "mart-released")
"""Forms of MART by name: see `mart`."""

__all__ = [
    "CONSTITUENCY_DECODERS",
    "DEPENDENCY_DECODERS",
    "ROOT",
    "Heads",
    "Spans",
    "both_chains",
    "chu_liu_edmonds",
    "eisner",
    "flat_tree",
    "left_branching",
    "left_chain",
    "mart",
    "random_branching",
    "random_projective_tree",
    "random_tree",
    "right_branching",
    "right_chain",
]
