"""Dependency trees out of impact matrices, scored against a treebank beside the baselines.

Paper: Wu et al. 2020, "Perturbed Masking", section 3.1 and Tables 1 and 2
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, one_of
from mirrormask.core.seeding import generator
from mirrormask.data.tasks.dependencies import DependencySentence
from mirrormask.probing.decoders import DEPENDENCY_DECODERS, Heads
from mirrormask.probing.decoders.chains import both_chains, flat_tree, left_chain, right_chain
from mirrormask.probing.decoders.random_tree import random_projective_tree
from mirrormask.probing.normalization import NORMALIZATIONS, normalized, released_softmax
from mirrormask.probing.tree_scores import ArcCounts, count_arcs

Matrix = NDArray[np.floating[Any]]

INDUCED = "induced"
SHORT = 10  # words of a sentence of WSJ10, punctuation not counted
SUBSETS = ("all", "without punctuation", f"up to {SHORT} words, without punctuation")


@dataclass(frozen=True)
class DependencyParser:
    """How a matrix becomes a tree.

    Args:
        decoder: `eisner` (projective) or `cle`.
        normalization: how impacts become scores, a name of `NORMALIZATIONS`.
        root: `gold`: the root is given, as in the published numbers; `found`: the decoder finds it.
        faithful: do what the published code does: its softmax (eisner) or product of scores (cle), several roots
            allowed, and the gold root only preferred. It needs matrices with a row and column for the root.

    Example:
        >>> DependencyParser().parse(np.array([[0, 5, 1], [1, 0, 1], [1, 5, 0]]), root=1).tolist()
        [1, -1, 1]
    """

    decoder: str = "eisner"
    normalization: str = "softmax"
    root: str = "gold"
    faithful: bool = False

    def __post_init__(self) -> None:
        one_of("decoder", self.decoder, DEPENDENCY_DECODERS, of="a dependency probe")
        one_of("normalization", self.normalization, NORMALIZATIONS, of="a dependency probe")
        one_of("root", self.root, ("gold", "found"), of="a dependency probe")

    def parse(self, matrix: Matrix, *, root: int | None = None, n: int | None = None) -> Heads:
        """Return the heads of a sentence.

        Args:
            matrix: impacts (n, n), or (n + 1, n + 1) with the root first.
            root: the place of the gold root; where it is None the decoder finds one.
            n: the number of words, where a matrix may have the root's row; by default that of its rows.
        """
        size = len(matrix)
        n = size if n is None else n
        if matrix.ndim != 2 or matrix.shape != (size, size) or size not in (n, n + 1):
            raise MirrormaskError(
                f"The impact matrix of a sentence of {n} words must be {n} × {n}, or one more with the root. "
                f"Got shape {matrix.shape}. Give sentences and matrices in the same order."
            )
        gold = root if self.root == "gold" else None
        if self.faithful:
            return self._released(with_root(matrix, n), gold)
        words = matrix[size - n :, size - n :]
        return DEPENDENCY_DECODERS[self.decoder](normalized(words, self.normalization), root=gold)

    def _released(self, matrix: NDArray[np.float64], root: int | None) -> Heads:
        if root is not None:
            matrix[root + 1] = 0.0
            matrix[root + 1, 0] = 1.0
            matrix[0, 0] = 0.0
        if self.decoder == "eisner":
            scores = released_softmax(matrix)
        else:
            with np.errstate(divide="ignore"):
                scores = np.log(np.maximum(matrix, 0.0))  # the best product is the best sum of logarithms
        decode = DEPENDENCY_DECODERS[self.decoder]
        return decode(scores[1:, 1:], root_scores=scores[1:, 0], single_root=False)


def with_root(matrix: Matrix, n: int) -> NDArray[np.float64]:
    """Return a copy of the matrix of n units with a row and column for the root, zeros where it has none."""
    if len(matrix) == n + 1:
        return np.array(matrix, dtype=np.float64)
    wide = np.zeros((n + 1, n + 1))
    wide[1:, 1:] = matrix
    return wide


DEFAULT_PARSER = DependencyParser()


@dataclass(frozen=True)
class DependencyResult:
    """Scores of the induced trees and of every baseline.

    Args:
        sentences: how many were scored.
        parser: how trees were read.
        scores: tree → subset of arcs → score → value.
    """

    sentences: int
    parser: dict[str, Any]
    scores: dict[str, dict[str, dict[str, float]]]

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {"task": "dependency", **asdict(self)}


class DependencyTally:
    """Adds up the scores of one parser over sentences, so that many parsers can share one pass over the matrices.

    Args:
        parser: how to read a matrix.
        baselines: score chains and random trees as well.
        seed: of the random trees.
    """

    def __init__(self, parser: DependencyParser = DEFAULT_PARSER, *, baselines: bool = True, seed: int = 42) -> None:
        self.parser, self.baselines = parser, baselines
        self._rng = generator(seed, "random trees")
        self._counts: dict[str, dict[str, ArcCounts]] = {}
        self._sentences = 0

    def add(self, sentence: DependencySentence, matrix: Matrix) -> Heads:
        """Count a sentence and return its induced heads."""
        n, gold, root = len(sentence), sentence.heads, sentence.root
        heads = self.parser.parse(matrix, root=root, n=n)
        trees = {INDUCED: heads, **(self._others(n, root) if self.baselines else {})}
        words = ~sentence.punctuation
        subsets = {SUBSETS[0]: np.ones(n, dtype=bool), SUBSETS[1]: words}
        if words.sum() <= SHORT:
            subsets[SUBSETS[2]] = words
        for name, tree in trees.items():
            of_tree = self._counts.setdefault(name, {})
            for subset, counted in subsets.items():
                of_tree[subset] = of_tree.get(subset, ArcCounts()) + count_arcs(tree, gold, counted)
        self._sentences += 1
        return heads

    def _others(self, n: int, root: int) -> dict[str, Heads]:
        given = root if self.parser.root == "gold" else None
        top = n - 1 if given is None else given
        return {
            "right-chain": right_chain(n, given),
            "left-chain": left_chain(n, given),
            "both chains": both_chains(n, top),
            "all on the root": flat_tree(n, top),
            "random": random_projective_tree(n, self._rng, given),
        }

    def result(self) -> DependencyResult:
        """Return the scores so far."""
        scores = {
            tree: {subset: found.scores() for subset, found in each.items()} for tree, each in self._counts.items()
        }
        return DependencyResult(self._sentences, asdict(self.parser), scores)


def probe_dependency(
    sentences: Iterable[DependencySentence],
    matrices: Iterable[Matrix],
    parser: DependencyParser = DEFAULT_PARSER,
    *,
    keep: Callable[[DependencySentence], None] | None = None,
    seed: int = 42,
) -> DependencyResult:
    """Return the scores of the trees read from the matrices, beside those of chains and random trees.

    Args:
        sentences: the gold trees.
        matrices: the impact matrix of each, in the same order; one is held at a time.
        parser: how to read them.
        keep: is given each sentence with its induced heads, to write it for example.
        seed: of the random trees.

    Raises:
        MirrormaskError: a matrix that does not fit its sentence.
    """
    tally = DependencyTally(parser, seed=seed)
    for sentence, matrix in zip(sentences, matrices, strict=True):
        heads = tally.add(sentence, matrix)
        if keep is not None:
            keep(sentence.with_heads(heads))
    return tally.result()
