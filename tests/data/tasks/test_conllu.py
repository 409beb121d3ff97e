"""Dependency treebanks: CoNLL-U, the short CoNLL, what is wrong with a file, and punctuation taken out."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.conll import read_dependencies
from mirrormask.data.tasks.conllu import format_conllu, read_conllu, write_conllu
from mirrormask.data.tasks.dependencies import ROOT, DependencySentence, Word

GOOD = """\
# sent_id = 1
# text = Don't wait, please.
1-2	Don't	_	_	_	_	_	_	_	_
1	Do	do	AUX	VBP	Mood=Imp	3	aux	3:aux	_
2	n't	not	PART	RB	_	3	advmod	3:advmod	_
3	wait	wait	VERB	VB	_	0	root	0:root	SpaceAfter=No
3.1	waiting	wait	VERB	VB	_	_	_	0:root	_
4	,	,	PUNCT	,	_	5	punct	_	_
5	please	please	INTJ	UH	_	3	discourse	_	SpaceAfter=No
6	.	.	PUNCT	.	_	3	punct	_	_

1	Yes	yes	INTJ	UH	_	0	root	_	_
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], Path]:
    def write(text: str) -> Path:
        path = tmp_path / "bank.conllu"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_words_ranges_and_empty_nodes(written: Callable[[str], Path], tmp_path: Path) -> None:
    first, second = read_conllu(written(GOOD))
    assert first.forms == ["Do", "n't", "wait", ",", "please", "."]
    assert first.heads.tolist() == [2, 2, ROOT, 4, 2, 2]
    assert first.punctuation.tolist() == [False, False, False, True, False, True]
    assert (first.root, first.line, second.line, len(second)) == (2, 1, 12, 1)
    assert first.words[2].misc == "SpaceAfter=No"
    packed = tmp_path / "bank.conllu.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    assert [s.forms for s in read_dependencies(packed)] == [first.forms, second.forms]


def test_written_again_it_is_the_same_but_for_the_enhanced_graph(
    written: Callable[[str], Path], tmp_path: Path
) -> None:
    sentences = list(read_conllu(written(GOOD)))
    out = tmp_path / "out.conllu"
    write_conllu(out, sentences)
    plain = [line for line in GOOD.splitlines() if not line.startswith("3.1")]
    expected = [
        "\t".join([*line.split("\t")[:8], "_", line.split("\t")[9]]) if "\t" in line else line for line in plain
    ]
    assert out.read_text(encoding="utf-8").splitlines() == [*expected, ""]
    assert [s.words for s in read_conllu(out)] == [s.words for s in sentences]
    induced = sentences[0].with_heads([1, 2, ROOT, 2, 3, 4])
    assert "5\tplease\tplease\tINTJ\tUH\t_\t4\tdep\t_" in format_conllu(induced)
    assert "3\twait\twait\tVERB\tVB\t_\t0\troot\t_" in format_conllu(induced)


def test_the_short_layout(written: Callable[[str], Path]) -> None:
    (sentence,) = read_dependencies(written("Rain\tNN\t2\nfalls\tVBZ\t0\n.\t.\t2\n"))
    assert sentence.forms == ["Rain", "falls", "."]
    assert sentence.heads.tolist() == [1, ROOT, 1]
    assert sentence.punctuation.tolist() == [False, False, True]
    (hashed,) = read_dependencies(written("# 1\n#\t#\t2\tdep\n5\tCD\t0\troot\n"))
    assert hashed.forms == ["#", "5"] and hashed.words[1].relation == "root" and hashed.comments == ("# 1",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "1\ta\t_\t_\t_\t_\t2\t_\t_\t_\n2\tb\t_\t_\t_\t_\t1\t_\t_\t_\n",
            "line 1: the heads of words 1 → 2 → 1 form a cycle",
        ),
        ("1\ta\t_\t_\t_\t_\t1\t_\t_\t_\n", "line 1: the heads of words 1 → 1 form a cycle"),
        ("1\ta\t_\t_\t_\t_\t0\t_\t_\t_\n\n1\tb\t_\t_\t_\t_\t_\t_\t_\t_\n", "line 3: the head is missing. Give 0"),
        (
            "1\ta\t_\t_\t_\t_\t7\t_\t_\t_\n",
            "line 1: a head must be 0, for the root, or the number of a word up to 1. Got '7'.",
        ),
        ("1\ta\t_\t_\t_\t_\t-1\t_\t_\t_\n", "Got '-1'."),
        ("1\ta\t_\n", "line 1: a head must be 0|line 1: the head is missing"),
        ("1 a b\n", "line 1: a line of CoNLL-U has 10 columns with tabs between them. Got 1."),
        ("2\ta\t_\t_\t_\t_\t0\t_\t_\t_\n", "line 1: words are numbered 1, 2, 3 …, and 1 is next. Got '2'."),
        ("\n\n# only a comment\n", "has no sentence. Give a CoNLL-U or CoNLL file"),
        ("", "is empty. Give a file with at least one row."),
        ("a\tNN\t2\nb\tNN\t3\nc\tNN\t2\n", "line 2: the heads of words 2 → 3 → 2 form a cycle"),
        (
            "a\tNN\t0\nb\n",
            "line 2: a line has word, tag and head, perhaps a relation, with tabs between them. Got 1 columns.",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(written: Callable[[str], Path], text: str, says: str) -> None:
    with pytest.raises(DataError, match=says) as error:
        list(read_dependencies(written(text)))
    assert "bank.conllu" in str(error.value)


def test_punctuation_is_taken_out_and_its_dependents_move_up() -> None:
    forms = [("a", "X", 1), (",", "PUNCT", 3), ("b", "X", 1), ("c", "X", -1), ("!", "PUNCT", 3)]
    sentence = DependencySentence(tuple(Word(form, head, upos=tag) for form, tag, head in forms))
    bare = sentence.without_punctuation()
    assert bare.forms == ["a", "b", "c"] and bare.heads.tolist() == [2, 2, ROOT]
    marked = DependencySentence((Word("a", 1, upos="X"), Word("-", -1, upos="PUNCT"), Word("b", 1, upos="X")))
    assert marked.without_punctuation().heads.tolist() == [ROOT, 0]
    mixed = DependencySentence((*marked.words, Word("c", -1, upos="X")))
    assert mixed.without_punctuation().heads.tolist() == [2, 2, ROOT]
    assert len(DependencySentence((Word("!", -1, upos="PUNCT"),)).without_punctuation()) == 0


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "sentences", "words"),
    [("en_pud.conllu.gz", 1000, 21180), ("zh_pud.conllu.gz", 1000, 21415), ("wsj_sample.conll.gz", 3000, 72422)],
)
def test_real_treebanks(shared_data: Path, name: str, sentences: int, words: int) -> None:
    found = list(read_dependencies(shared_data / "treebanks" / name))
    assert (len(found), sum(map(len, found))) == (sentences, words)
    assert all((s.heads == ROOT).sum() == 1 for s in found)
    assert all((s.without_punctuation().heads == ROOT).sum() == 1 for s in found)
