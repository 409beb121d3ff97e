"""Decoders against all trees of up to six words, loops, and closed forms."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.probing.decoders import (
    ROOT,
    both_chains,
    chu_liu_edmonds,
    eisner,
    flat_tree,
    left_branching,
    left_chain,
    mart,
    random_branching,
    random_projective_tree,
    random_tree,
    right_branching,
    right_chain,
)
from mirrormask.probing.decoders.mart import FORMS

Matrix = NDArray[np.float64]
Decoder = Callable[..., NDArray[np.int64]]


def is_tree(heads: NDArray[np.int64]) -> bool:
    for word in range(len(heads)):
        seen = set()
        while word != ROOT:
            if word in seen:
                return False
            seen.add(word)
            word = int(heads[word])
    return True


def is_projective(heads: NDArray[np.int64]) -> bool:
    arcs = [(min(i, h), max(i, h)) for i, h in enumerate(heads.tolist()) if h != ROOT]
    crossing = any(a < c < b < d for (a, b), (c, d) in itertools.permutations(arcs, 2))
    covered = any(low < i < high for i, h in enumerate(heads.tolist()) if h == ROOT for low, high in arcs)
    return not crossing and not covered


def every_tree(n: int) -> Iterator[NDArray[np.int64]]:
    for choice in itertools.product(range(-1, n), repeat=n):
        heads = np.array(choice)
        if not (heads == np.arange(n)).any() and is_tree(heads):
            yield heads


TREES = {n: list(every_tree(n)) for n in range(1, 6)}
PROJECTIVE = {n: [heads for heads in trees if is_projective(heads)] for n, trees in TREES.items()}


def total(scores: Matrix, roots: Matrix, heads: NDArray[np.int64]) -> float:
    return float(sum(roots[i] if h == ROOT else scores[i, h] for i, h in enumerate(heads)))


def matrices(n: int, count: int, seed: int) -> Iterator[tuple[Matrix, Matrix]]:
    rng = np.random.default_rng(seed)
    for number in range(count):
        kind = number % 4
        if kind == 0:
            yield rng.normal(size=(n, n)) * 10, rng.normal(size=n)
        elif kind == 1:  # ties
            yield rng.integers(0, 3, (n, n)).astype(float), rng.integers(0, 2, n).astype(float)
        elif kind == 2:
            yield -rng.random((n, n)) * 100, -rng.random(n)
        else:
            yield np.full((n, n), -1.5), np.zeros(n)


def check(decoder: Decoder, trees: list[NDArray[np.int64]], scores: Matrix, roots: Matrix) -> None:
    n = len(scores)
    for single, root in itertools.product((True, False), (None, *range(n))):
        heads = decoder(scores, root_scores=roots, root=root, single_root=single)
        allowed = [
            tree for tree in trees if (not single or (tree == ROOT).sum() == 1) and (root is None or tree[root] == ROOT)
        ]
        best = max(total(scores, roots, tree) for tree in allowed)
        assert any((heads == tree).all() for tree in allowed)
        assert total(scores, roots, heads) == pytest.approx(best, abs=1e-9)


def test_the_counts_of_trees() -> None:
    assert [len(TREES[n]) for n in (1, 2, 3, 4, 5)] == [(n + 1) ** (n - 1) for n in (1, 2, 3, 4, 5)]
    single = [sum((tree == ROOT).sum() == 1 for tree in PROJECTIVE[n]) for n in (1, 2, 3, 4)]
    assert single == [1, 2, 7, 30]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_eisner_finds_the_best_projective_tree(n: int) -> None:
    for scores, roots in matrices(n, 24 if n < 5 else 8, n):
        check(eisner, PROJECTIVE[n], scores, roots)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_chu_liu_edmonds_finds_the_best_tree(n: int) -> None:
    for scores, roots in matrices(n, 24 if n < 4 else 4, n):
        check(chu_liu_edmonds, TREES[n], scores, roots)


def test_six_words_against_all_trees_at_once() -> None:
    n = 6
    choices = np.array(list(itertools.product(range(-1, n), repeat=n)), dtype=np.int64)
    choices = choices[(choices != np.arange(n)).all(axis=1) & ((choices == ROOT).sum(axis=1) == 1)]
    reach = choices.copy()
    for _ in range(n):  # follow the heads: in a tree everyone arrives at the root
        reach = np.where(reach == ROOT, ROOT, np.take_along_axis(choices, np.maximum(reach, 0), axis=1))
    trees = choices[(reach == ROOT).all(axis=1)]
    assert len(trees) == n ** (n - 1)
    flat = np.array([is_projective(tree) for tree in trees[:: len(trees) // 500]])
    assert 0 < flat.mean() < 1
    projective = trees[[is_projective(tree) for tree in trees]]
    for scores, roots in matrices(n, 12, 6):
        for decoder, allowed in ((eisner, projective), (chu_liu_edmonds, trees)):
            sums = np.where(allowed == ROOT, roots, scores[np.arange(n), np.maximum(allowed, 0)]).sum(axis=1)
            heads = decoder(scores, root_scores=roots)
            assert is_tree(heads)
            assert total(scores, roots, heads) == pytest.approx(sums.max(), abs=1e-9)


@pytest.mark.parametrize("decoder", [eisner, chu_liu_edmonds])
def test_forbidden_arcs_and_small_sentences(decoder: Decoder) -> None:
    scores = np.full((3, 3), -np.inf)
    scores[0, 1] = scores[1, 2] = -5.0
    assert decoder(scores).tolist() == [1, 2, ROOT]
    assert decoder(np.zeros((0, 0))).tolist() == []
    assert decoder([[7.0]]).tolist() == [ROOT]
    assert decoder([[0, 1], [2, 0]], root_scores=[5, 0], single_root=False).tolist() == [ROOT, 0]
    assert decoder([[0, 1], [1, 0]], root_scores=[5, 5], single_root=False).tolist() == [ROOT, ROOT]


@pytest.mark.parametrize("decoder", [eisner, chu_liu_edmonds])
def test_bad_scores(decoder: Decoder) -> None:
    with pytest.raises(MirrormaskError, match=r"must be a square matrix, one row and one column per word. Got shape"):
        decoder(np.zeros((2, 3)))
    with pytest.raises(MirrormaskError, match="one of them is NaN or infinite"):
        decoder([[0, np.nan], [1, 0]])
    with pytest.raises(MirrormaskError, match="must be a word's place from 0 to 1. Got 2."):
        decoder(np.zeros((2, 2)), root=2)
    with pytest.raises(MirrormaskError, match="must be one number per word, 2. Got shape"):
        decoder(np.zeros((2, 2)), root_scores=[1.0])


def test_long_sentences_agree_with_loops() -> None:
    """The projective optimum of a matrix made from a projective tree is that tree; so is the free one."""
    rng = np.random.default_rng(5)
    for n in (12, 40, 67):
        gold = random_projective_tree(n, rng)
        scores = rng.random((n, n))
        for word, head in enumerate(gold.tolist()):
            if head != ROOT:
                scores[word, head] += n
        for decoder in (eisner, chu_liu_edmonds):
            assert (decoder(scores, root=int(np.flatnonzero(gold == ROOT)[0])) == gold).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_chains_against_a_loop(n: int) -> None:
    for root in (None, *range(n)):
        for chain, step in ((right_chain, 1), (left_chain, -1)):
            end = n - 1 if step == 1 else 0
            expected = [ROOT if i == (end if root is None else root) else i + step for i in range(n)]
            expected[end] = ROOT
            assert chain(n, root).tolist() == expected
            assert is_tree(chain(n, root))
        if root is not None:
            both = [ROOT if i == root else i + 1 if i < root else i - 1 for i in range(n)]
            assert flat_tree(n, root).tolist() == [ROOT if i == root else root for i in range(n)]
            assert both_chains(n, root).tolist() == both and is_tree(both_chains(n, root))
    assert right_chain(0).tolist() == left_chain(0).tolist() == []


def test_random_trees_are_uniform() -> None:
    rng = np.random.default_rng(0)
    counts: dict[tuple[int, ...], int] = {}
    for _ in range(9000):
        heads = random_tree(3, rng)
        assert is_tree(heads)
        counts[tuple(heads.tolist())] = counts.get(tuple(heads.tolist()), 0) + 1
    assert len(counts) == 9
    assert max(abs(count - 1000) for count in counts.values()) < 150
    assert random_tree(7, rng, root=3)[3] == ROOT
    tree = random_projective_tree(9, rng, root=4)
    assert is_tree(tree) and is_projective(tree) and tree[4] == ROOT


def loop_mart(matrix: Matrix, form: str) -> set[tuple[int, int]]:
    """MART with sums written out, on the words `places` of the sentence."""
    m = matrix.copy()
    np.fill_diagonal(m, 0)
    if form == "mart-released":
        m = np.exp(m - m.max())
        m = 1 - m / m.sum(axis=0)
        np.fill_diagonal(m, 0)
    spans: set[tuple[int, int]] = set()

    def mean(block: Matrix) -> float:
        return float(block.sum()) / block.size

    def split(start: int, stop: int) -> None:
        if stop - start < 2:
            return
        spans.add((start, stop))
        block, n = m[start:stop, start:stop], stop - start
        best, chosen = -np.inf, 0
        for k in range(1, n):
            if form == "mart-released":
                between = (block[:k, k + 1 :].sum() + block[k + 1 :, :k].sum()) / (k * (n - k))
                value = between - block[:k, :k].sum() / (2 * k) - block[k + 1 :, k + 1 :].sum() / (2 * (n - k))
            else:
                value = mean(block[:k, :k]) + mean(block[k:, k:]) - mean(block[:k, k:]) - mean(block[k:, :k])
            if value > best + 1e-12:
                best, chosen = value, k
        cut = start + chosen
        split(start, cut)
        if form == "mart":
            split(cut, stop)
        else:
            if stop - cut > 1:
                spans.add((cut, stop))
            split(cut + 1, stop)

    split(0, len(m))
    return spans


@pytest.mark.parametrize("form", FORMS)
def test_mart_against_a_loop(form: str) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 3, 4, 7, 12, 20):
        for _ in range(6):
            matrix = rng.random((n, n)) * 5
            spans = mart(matrix, form=form)
            assert set(spans) == loop_mart(matrix, form)
            assert len(spans) == len(set(spans)) == n - 1
            assert spans == sorted(spans, key=lambda span: (span[0], -span[1]))


def test_mart_without_information_and_with_blocks() -> None:
    for n in range(2, 30):
        assert mart(np.ones((n, n)), form="mart-released") == right_branching(n)
    blocks = np.kron(np.eye(2), np.ones((3, 3))) * 4 + 1
    for form in ("mart", "mart-paper"):
        assert (0, 3) in mart(blocks, form=form) and (3, 6) in mart(blocks, form=form)
    assert mart(np.zeros((0, 0))) == mart(np.zeros((1, 1))) == []
    with pytest.raises(MirrormaskError, match="Did you mean 'mart-paper'"):
        mart(np.zeros((2, 2)), form="mart-papers")


def test_branching() -> None:
    assert right_branching(1) == left_branching(1) == right_branching(0) == left_branching(0) == []
    for n in range(2, 7):
        assert right_branching(n) == [(i, n) for i in range(n) if n - i > 1]
        assert left_branching(n) == [(0, i) for i in range(n, 1, -1)]
    rng = np.random.default_rng(2)
    seen = {tuple(random_branching(3, rng)) for _ in range(50)}
    assert seen == {((0, 3), (0, 2)), ((0, 3), (1, 3))}
    assert random_branching(1, rng) == []
