"""Discourse trees over elementary units out of span-to-span impact, scored beside the baselines.

Paper: Wu et al. 2020, "Perturbed Masking", section 3.3 and Table 4
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import generator
from mirrormask.data.tasks.dependencies import ROOT
from mirrormask.data.tasks.scidtb import UNANNOTATED, Discourse
from mirrormask.probing.decoders import DEPENDENCY_DECODERS, Heads
from mirrormask.probing.decoders.chains import left_chain, right_chain
from mirrormask.probing.decoders.random_tree import random_projective_tree
from mirrormask.probing.dependency import INDUCED, DependencyParser, with_root
from mirrormask.probing.tree_scores import ArcCounts, count_arcs, count_by_distance

Matrix = NDArray[np.floating[Any]]

DISTANCES = (0, 1, 2, 5)
"""Units between head and dependent, as in the published table."""

NOWHERE = -3
"""A head that no unit has."""

DEFAULT_PARSER = DependencyParser(normalization="none")


@dataclass(frozen=True)
class DiscourseResult:
    """Scores of the induced trees and of every baseline.

    Args:
        documents: how many were scored.
        unannotated: units without a gold head; they take part in the text and are not scored.
        parser: how trees were read.
        scores: tree → score → value; `accuracy_by_distance_percent` maps units in between to accuracy.
    """

    documents: int
    unannotated: int
    parser: dict[str, Any]
    scores: dict[str, dict[str, Any]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"task": "discourse", **asdict(self)}


def parse_discourse(matrix: Matrix, root: int | None, n: int, parser: DependencyParser) -> Heads:
    """Return the heads of the units of a document.

    The published code means to cut a separator and takes a matrix without the last unit, whose arc then counts as
    wrong; it decodes without a softmax and lets several units hang on the root. With `faithful` that is done here
    too: the last unit gets a head that equals no unit.
    """
    if not parser.faithful or n < 2:
        return parser.parse(matrix, root=root, n=n)
    wide = with_root(matrix, n)[:n, :n]
    if root is not None and root < n - 1:
        wide[root + 1] = 0.0
        wide[root + 1, 0] = 1.0
    heads = DEPENDENCY_DECODERS[parser.decoder](wide[1:, 1:], root_scores=wide[1:, 0], single_root=False)
    return np.append(heads, NOWHERE)


class DiscourseTally:
    """Adds up the scores of one parser over documents, so that many parsers can share one pass over the matrices.

    Args:
        parser: how to read a matrix.
        baselines: score chains and random trees as well.
        seed: of the random trees.
    """

    def __init__(self, parser: DependencyParser = DEFAULT_PARSER, *, baselines: bool = True, seed: int = 42) -> None:
        self.parser, self.baselines = parser, baselines
        self._rng = generator(seed, "random discourse")
        self._arcs: dict[str, ArcCounts] = {}
        self._inner: dict[str, ArcCounts] = {}
        self._by_distance: dict[str, dict[int, tuple[int, int]]] = {}
        self._documents = self._unannotated = 0

    def add(self, document: Discourse, matrix: Matrix) -> Heads:
        """Count a document and return its induced heads."""
        n, gold = len(document), document.heads
        annotated = gold != UNANNOTATED
        roots = np.flatnonzero(gold == ROOT)
        root = int(roots[0]) if len(roots) and self.parser.root == "gold" else None
        trees = {INDUCED: parse_discourse(matrix, root, n, self.parser)}
        if self.baselines:
            trees["right-chain"] = right_chain(n, root)
            trees["left-chain"] = left_chain(n, root)
            trees["random"] = random_projective_tree(n, self._rng, root)
        for name, heads in trees.items():
            self._arcs[name] = self._arcs.get(name, ArcCounts()) + count_arcs(heads, gold, annotated)
            inner = count_arcs(heads, gold, annotated & (gold != ROOT))
            self._inner[name] = self._inner.get(name, ArcCounts()) + inner
            of_tree = self._by_distance.setdefault(name, {})
            for distance, (there, right) in count_by_distance(heads, gold, annotated).items():
                before = of_tree.get(distance, (0, 0))
                of_tree[distance] = (before[0] + there, before[1] + right)
        self._documents += 1
        self._unannotated += int((~annotated).sum())
        return trees[INDUCED]

    def result(self) -> DiscourseResult:
        """Return the scores so far."""
        scores = {name: _scores(self._arcs[name], self._inner[name], self._by_distance[name]) for name in self._arcs}
        return DiscourseResult(self._documents, self._unannotated, asdict(self.parser), scores)


def probe_discourse(
    documents: Iterable[Discourse],
    matrices: Iterable[Matrix],
    parser: DependencyParser = DEFAULT_PARSER,
    *,
    keep: Callable[[Discourse, Heads], None] | None = None,
    seed: int = 42,
) -> DiscourseResult:
    """Return the scores of the trees read from the matrices, beside those of chains and random trees.

    Args:
        documents: the gold trees.
        matrices: the impact matrix over the units of each, in the same order; one is held at a time.
        parser: how to read them.
        keep: is given each document with its induced heads.
        seed: of the random trees.

    Raises:
        MirrormaskError: a matrix that does not fit its document.
    """
    tally = DiscourseTally(parser, seed=seed)
    for document, matrix in zip(documents, matrices, strict=True):
        heads = tally.add(document, matrix)
        if keep is not None:
            keep(document, heads)
    return tally.result()


def _scores(arcs: ArcCounts, inner: ArcCounts, by_distance: dict[int, tuple[int, int]]) -> dict[str, Any]:
    accuracy = {}
    for distance in DISTANCES:
        there, right = by_distance.get(distance, (0, 0))
        accuracy[str(distance)] = 100 * right / there if there else None
    return {
        **arcs.scores(),
        "uas_without_root_percent": inner.scores()["uas_percent"],
        "accuracy_by_distance_percent": accuracy,
    }
