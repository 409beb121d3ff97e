"""Constituency trees out of impact matrices, scored against a treebank beside the baselines.

Paper: Wu et al. 2020, "Perturbed Masking", section 3.2 and Table 3
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, one_of
from mirrormask.core.seeding import generator
from mirrormask.data.tasks.brackets import Tree, tree_of
from mirrormask.probing.decoders import CONSTITUENCY_DECODERS
from mirrormask.probing.decoders.branching import left_branching, random_branching, right_branching
from mirrormask.probing.decoders.mart import mart
from mirrormask.probing.decoders.matrix import Spans
from mirrormask.probing.normalization import NORMALIZATIONS, normalized
from mirrormask.probing.span_scores import SpanCounts

Matrix = NDArray[np.floating[Any]]

INDUCED = "induced"
SHORT = 10
SUBSETS = ("all", f"up to {SHORT} words")


@dataclass(frozen=True)
class ConstituencyParser:
    """How a matrix becomes a tree.

    Args:
        decoder: `mart`, `mart-paper` or `mart-released`, see `decoders.mart`; the last brings its own softmax.
        normalization: how impacts become scores, a name of `NORMALIZATIONS`.

    Example:
        >>> ConstituencyParser().parse(np.kron(np.eye(2), np.ones((2, 2))))
        [(0, 4), (0, 2), (2, 4)]
    """

    decoder: str = "mart"
    normalization: str = "none"

    def __post_init__(self) -> None:
        one_of("decoder", self.decoder, CONSTITUENCY_DECODERS, of="a constituency probe")
        one_of("normalization", self.normalization, NORMALIZATIONS, of="a constituency probe")

    def parse(self, matrix: Matrix) -> Spans:
        """Return the spans of a sentence from its impacts (n, n)."""
        scores = matrix if self.decoder == "mart-released" else normalized(matrix, self.normalization)
        return mart(scores, form=self.decoder)


DEFAULT_PARSER = ConstituencyParser()


@dataclass(frozen=True)
class ConstituencyResult:
    """Scores of the induced trees and of every baseline.

    Args:
        sentences: how many were scored.
        parser: how trees were read.
        scores: tree → subset of sentences → score → value.
    """

    sentences: int
    parser: dict[str, Any]
    scores: dict[str, dict[str, dict[str, float | None]]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"task": "constituency", **asdict(self)}


class ConstituencyTally:
    """Adds up the scores of one parser over trees, so that many parsers can share one pass over the matrices.

    Args:
        parser: how to read a matrix.
        baselines: score branching and random trees as well.
        seed: of the random trees.
    """

    def __init__(self, parser: ConstituencyParser = DEFAULT_PARSER, *, baselines: bool = True, seed: int = 42) -> None:
        self.parser, self.baselines = parser, baselines
        self._rng = generator(seed, "random branching")
        self._counts: dict[str, dict[str, SpanCounts]] = {}
        self._sentences = 0

    def add(self, tree: Tree, matrix: Matrix) -> Spans:
        """Count a tree and return the induced spans."""
        n = len(tree.leaves())
        if matrix.shape != (n, n):
            raise MirrormaskError(
                f"The impact matrix of a sentence of {n} words must be {n} × {n}. Got shape {matrix.shape}. "
                "Give trees and matrices in the same order."
            )
        spans = self.parser.parse(matrix)
        given = {INDUCED: spans}
        if self.baselines:
            given["right-branching"] = right_branching(n)
            given["left-branching"] = left_branching(n)
            given["random"] = random_branching(n, self._rng)
        gold = tree.spans()
        for name, found in given.items():
            for subset in SUBSETS if n <= SHORT else SUBSETS[:1]:
                self._counts.setdefault(name, {}).setdefault(subset, SpanCounts()).add(found, gold, n)
        self._sentences += 1
        return spans

    def result(self) -> ConstituencyResult:
        """Return the scores so far."""
        scores = {
            name: {subset: found.scores() for subset, found in each.items()} for name, each in self._counts.items()
        }
        return ConstituencyResult(self._sentences, asdict(self.parser), scores)


def probe_constituency(
    trees: Iterable[Tree],
    matrices: Iterable[Matrix],
    parser: ConstituencyParser = DEFAULT_PARSER,
    *,
    keep: Callable[[Tree], None] | None = None,
    seed: int = 42,
) -> ConstituencyResult:
    """Return the scores of the trees read from the matrices, beside those of branching and random trees.

    Args:
        trees: the gold trees over the words the matrices are of, so usually without punctuation.
        matrices: the impact matrix of each, in the same order; one is held at a time.
        parser: how to read them.
        keep: is given each induced tree, to write it for example.
        seed: of the random trees.

    Raises:
        MirrormaskError: a matrix that does not fit its tree.
    """
    tally = ConstituencyTally(parser, seed=seed)
    for tree, matrix in zip(trees, matrices, strict=True):
        spans = tally.add(tree, matrix)
        if keep is not None:
            keep(tree_of(tree.words(), spans))
    return tally.result()
