"""The constituency probe, on trees whose matrices are known."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.brackets import Tree, read_brackets, tree_of, without_punctuation
from mirrormask.probing.constituency import ConstituencyParser, probe_constituency


def halved(start: int, stop: int) -> list[tuple[int, int]]:
    """The spans of a tree that splits in the middle."""
    if stop - start < 2:
        return []
    middle = (start + stop) // 2
    return [(start, stop), *halved(start, middle), *halved(middle, stop)]


def impacts(tree: Tree) -> NDArray[np.float64]:
    """Impacts that grow with the number of spans two words share."""
    n = len(tree.leaves())
    matrix = np.zeros((n, n))
    for _, start, stop in tree.spans():
        matrix[start:stop, start:stop] += 1.0
    return matrix


def test_what_is_in_the_matrix_is_found() -> None:
    trees = [tree_of([f"w{i}" for i in range(n)], halved(0, n), label="NP") for n in (1, 2, 4, 8, 16)]
    kept: list[Tree] = []
    result = probe_constituency(trees, map(impacts, trees), keep=kept.append)
    assert [[span[1:] for span in tree.spans()] for tree in kept] == [
        [span[1:] for span in tree.spans()] for tree in trees
    ]
    assert set(result.scores) == {"induced", "right-branching", "left-branching", "random"}
    for subset, count in (("all", 5), ("up to 10 words", 4)):
        found = result.scores["induced"][subset]
        assert found["sentence_f1_percent"] == found["corpus_f1_percent"] == found["recall_NP_percent"] == 100.0
        assert found["sentences"] == count
    guessed = result.scores["right-branching"]["all"]["corpus_f1_percent"]
    assert guessed is not None and guessed < 100.0
    assert json.loads(json.dumps(result.as_json()))["task"] == "constituency"


def test_errors() -> None:
    tree = tree_of(["a", "b", "c"], [])
    with pytest.raises(MirrormaskError, match="of a sentence of 3 words must be 3 × 3. Got shape"):
        probe_constituency([tree], [np.ones((2, 2))])
    with pytest.raises(MirrormaskError, match="The 'decoder' of a constituency probe must be one of mart,"):
        ConstituencyParser(decoder="marts")


@pytest.mark.shared
def test_branching_on_the_real_sample(shared_data: Path) -> None:
    trees = [without_punctuation(tree) for tree in read_brackets(shared_data / "treebanks" / "wsj_sample.trees.gz")]
    found = [tree for tree in trees if tree is not None][:600]
    zeros = (np.ones((len(tree.leaves()),) * 2) for tree in found)
    scores = probe_constituency(found, zeros, ConstituencyParser("mart-released")).scores
    assert scores["induced"] == scores["right-branching"]  # nothing in the matrix: the published form branches right
    assert scores["right-branching"]["all"]["sentence_f1_percent"] == pytest.approx(39.8, abs=3)
    assert scores["right-branching"]["up to 10 words"]["sentence_f1_percent"] == pytest.approx(56.7, abs=8)
    assert scores["left-branching"]["all"]["sentence_f1_percent"] == pytest.approx(9.0, abs=3)
