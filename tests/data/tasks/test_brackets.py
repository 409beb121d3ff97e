"""Bracketed trees: in, out, their spans, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.brackets import Tree, plain_label, read_brackets, tree_of, without_punctuation

TEXT = """\
( (S (NP-SBJ-1 (DT The) (JJ old) (NN boat))
     (VP (VBD crossed) (NP=2 (-NONE- *T*-1)) (NP (DT the) (NN river\\/lake)))
     (. .)) )
(FRAG (`` ``) (NP (NN Rain)))
"""


def trees(tmp_path: Path, text: str) -> list[Tree]:
    path = tmp_path / "bank.trees"
    path.write_text(text, encoding="utf-8")
    return list(read_brackets(path))


def test_trees_and_their_spans(tmp_path: Path) -> None:
    first, second = trees(tmp_path, TEXT)
    assert first.words() == ["The", "old", "boat", "crossed", "the", "river/lake", "."]
    assert first.spans() == [("S", 0, 7), ("NP", 0, 3), ("VP", 3, 6), ("NP", 4, 6)]
    bare = without_punctuation(first)
    assert bare is not None and bare.spans() == [("S", 0, 6), ("NP", 0, 3), ("VP", 3, 6), ("NP", 4, 6)]
    assert second.words() == ['"', "Rain"]
    only = without_punctuation(second)
    assert only is not None and only.words() == ["Rain"] and only.spans() == []
    assert without_punctuation(Tree("X", (Tree(".", word="."),))) is None


def test_written_again_it_is_the_same(tmp_path: Path) -> None:
    found = trees(tmp_path, TEXT)
    assert trees(tmp_path, "\n".join(map(str, found))) == found


def test_a_tree_of_spans(tmp_path: Path) -> None:
    words = ["a", "b", "(c)", "d", "e"]
    spans = [(0, 5), (0, 2), (2, 5), (3, 5)]
    tree = tree_of(words, spans)
    assert str(tree) == "(X (X (W a) (W b)) (X (W -LRB-c-RRB-) (X (W d) (W e))))"
    assert [(start, stop) for _, start, stop in tree.spans()] == spans
    assert trees(tmp_path, str(tree)) == [tree]
    assert str(tree_of(["a"], [])) == "(X (W a))"


def test_labels() -> None:
    labels = ["NP-SBJ", "S|<X>", "WHNP-1", "PRP$", "-LRB-", "ADVP=3"]
    assert [plain_label(label) for label in labels] == ["NP", "S", "WHNP", "PRP$", "-LRB-", "ADVP"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("(S (NN a))\n(S (NN b)\n(S (NN c))\n", r"line 2: the tree that begins here lacks 1 closing bracket\(s\)"),
        ("(S (NN a)))\n", "line 1: a bracket closes that never opened"),
        ("(S (NN a))\nword\n", "line 2: 'word' stands outside all brackets"),
        ("(S (NN))\n", r"line 1: the node \(NN\) has nothing in it"),
        ("(S ())\n", "has nothing in it"),
        ("(S (NN a b))\n", "line 1: a node has either other nodes or one word in it, and 'b' is beside"),
        ("(S word (NN a))\n", "line 1: the word 'word' and a bracket stand in one node"),
        ("(S (NN a) word)\n", "'word' is beside"),
        ("(" * 500, "brackets are more than 400 deep"),
        ("\n \n", "has no tree. Give a file of bracketed trees"),
        ("", "is empty"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as error:
        trees(tmp_path, text)
    assert "bank.trees" in str(error.value)


@pytest.mark.shared
def test_the_real_sample(shared_data: Path) -> None:
    found = [without_punctuation(tree) for tree in read_brackets(shared_data / "treebanks" / "wsj_sample.trees.gz")]
    assert len(found) == 3000 and None not in found
    assert sum(len(tree.leaves()) <= 10 for tree in found if tree is not None) == 442
