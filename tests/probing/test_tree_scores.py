"""Scores of trees, spans and words against loops and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.data.tasks.dependencies import ROOT
from mirrormask.probing.boundary_scores import WordCounts
from mirrormask.probing.decoders import mart, random_branching, random_tree, right_chain
from mirrormask.probing.span_scores import SpanCounts
from mirrormask.probing.tree_scores import ArcCounts, count_arcs, count_by_distance


def loop_arcs(heads: list[int], gold: list[int], counted: list[bool]) -> ArcCounts:
    """The published scores with sets of arcs, the root as node 0."""
    real = [(i + 1, h + 1) for i, h in enumerate(gold)]
    given = {(i + 1, h + 1) for i, h in enumerate(heads)}
    parent = dict(real)
    arcs = directed = undirected = neutral = 0
    for i, (dependent, head) in enumerate(real):
        if not counted[i]:
            continue
        arcs += 1
        directed += (dependent, head) in given
        undirected += (dependent, head) in given or (head, dependent) in given
        taken = heads[i] + 1
        neutral += taken == head or parent.get(taken) == dependent or parent.get(head) == taken
    return ArcCounts(arcs, directed, undirected, neutral)


def test_arcs_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    for n in (1, 2, 3, 6, 15):
        for _ in range(20):
            heads, gold = random_tree(n, rng), random_tree(n, rng)
            counted = rng.random(n) < 0.8
            assert count_arcs(heads, gold, counted) == loop_arcs(heads.tolist(), gold.tolist(), counted.tolist())
    gold = random_tree(9, rng)
    assert count_arcs(gold, gold) == ArcCounts(9, 9, 9, 9)


def test_the_scores_of_a_turned_chain() -> None:
    n = 8
    gold = np.arange(-1, n - 1)  # each word hangs on the one before
    found = count_arcs(right_chain(n), gold).scores()
    assert found == {"uas_percent": 0.0, "uuas_percent": 100 * 7 / 8, "ned_percent": 100 * 7 / 8, "arcs": 8}
    assert (count_arcs(gold, gold) + count_arcs(right_chain(n), gold)).scores()["uas_percent"] == 50.0
    assert ArcCounts().scores()["uas_percent"] == 0.0


def test_accuracy_by_distance() -> None:
    gold = np.array([2, 0, ROOT, 2, 2])
    heads = np.array([2, 2, ROOT, 2, 3])
    every = np.ones(5, dtype=bool)
    assert count_by_distance(heads, gold, every) == {0: (2, 1), 1: (2, 1)}
    assert count_by_distance(heads, gold, np.array([True, False, True, True, True])) == {0: (1, 1), 1: (2, 1)}


def loop_f1(spans: set[tuple[int, int]], gold: set[tuple[int, int]], n: int) -> float:
    spans = {s for s in spans if s[1] - s[0] >= 2 and s[1] - s[0] < n}
    gold = {s for s in gold if s[1] - s[0] >= 2 and s[1] - s[0] < n}
    right = len([s for s in spans if s in gold])
    precision = right / len(spans) if spans else 1.0
    recall = right / len(gold) if gold else 1.0
    return (
        0.0
        if right == 0 and (spans or gold) and precision + recall == 0
        else 2 * precision * recall / (precision + recall)
    )


def test_spans_against_a_loop() -> None:
    rng = np.random.default_rng(1)
    counts = SpanCounts()
    f1s, right, given, there = [], 0, 0, 0
    labels: dict[str, list[bool]] = {}
    for n in (1, 2, 3, 7, 12, 20):
        matrix: NDArray[np.float64] = rng.random((n, n))
        spans = mart(matrix)
        gold = [(str(rng.choice(["NP", "VP"])), start, stop) for start, stop in random_branching(n, rng)[::2]]
        counts.add(spans, gold, n)
        bare = {(start, stop) for _, start, stop in gold}
        f1s.append(loop_f1(set(spans), bare, n))
        inner, real = set(spans) - {(0, n)}, bare - {(0, n)}
        right, given, there = right + len(inner & real), given + len(inner), there + len(real)
        for label, start, stop in gold:
            labels.setdefault(label, []).append((start, stop) in spans)
    found = counts.scores()
    assert found["sentence_f1_percent"] == pytest.approx(100 * np.mean(f1s))
    assert found["corpus_f1_percent"] == pytest.approx(100 * 2 * right / (given + there))
    for label in ("NP", "VP"):
        assert found[f"recall_{label}_percent"] == pytest.approx(100 * np.mean(labels[label]))
    assert (found["recall_PP_percent"], found["sentences"]) == (None, 6)  # there is none


def test_conventions_of_spans() -> None:
    counts = SpanCounts()
    counts.add([(0, 3), (0, 2)], [("S", 0, 3), ("NP", 0, 2), ("NX", 0, 2)], 3)
    assert counts.scores()["sentence_f1_percent"] == 100.0  # a unary chain is one span
    assert counts.scores()["recall_S_percent"] == 100.0  # by label the whole sentence counts
    counts.add([(0, 2)], [("S", 0, 2)], 2)
    counts.add([], [], 1)
    assert counts.scores()["sentence_f1_percent"] == 100.0
    counts.add([(0, 3), (1, 3)], [("S", 0, 3)], 3)
    assert counts.scores()["sentence_f1_percent"] == 75.0


def test_words() -> None:
    counts = WordCounts()
    counts.add(["今天", "下", "雨了"], ["今天", "下雨", "了"])
    found = counts.scores()
    assert found["precision_percent"] == found["recall_percent"] == found["f1_percent"] == pytest.approx(100 / 3)
    assert found["boundary_f1_percent"] == 50.0
    assert (found["mean_length"], found["words"]) == (5 / 3, 3)
    assert WordCounts().scores()["f1_percent"] == 0.0
