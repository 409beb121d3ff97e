from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples, pairings
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import build_tokens

ROWS = [
    ("a man walks", "somebody walks", "entailment"),
    ("a man walks", "a man moves", "entailment"),
    ("a man walks", "a man sleeps", "contradiction"),
    ("a man walks", "nobody walks", "contradiction"),
    ("a man walks", "a man walks home", "neutral"),
    ("two dogs play", "animals play", "entailment"),
    ("two dogs play", "two dogs rest", "contradiction"),
    ("a boat floats", "something floats", "entailment"),
    ("the rain stops", "it rains on", "contradiction"),
]


@pytest.fixture
def pieces(tiny: Callable[..., Any]) -> Any:
    """A tokenizer that knows every letter."""
    return tiny(pooling="mean").tokenizer


def index(tmp_path: Path, pieces: Any, rows: Sequence[tuple[str, ...]], **parameters: Any) -> tuple[Any, Examples]:
    corpus = build_corpus(list(rows), tmp_path / "corpus")
    tokens = build_tokens(corpus, pieces, tmp_path / "tokens", max_tokens=30)
    return pieces, pairings.build("inference", **parameters).index(corpus, tokens, tmp_path / "pairs")


def texts(tokenizer: Any, examples: Examples, seed: int = 0) -> list[tuple[str, ...]]:
    columns = examples.columns(np.arange(len(examples)), seed)
    return [tuple(tokenizer.decode(ids.tolist()) for ids in row) for row in zip(*columns, strict=True)]


def test_each_entailment_has_a_contradiction_of_its_own_premise(tmp_path: Path, pieces: Any) -> None:
    tokenizer, examples = index(tmp_path, pieces, ROWS)
    known = {(p, h): label for p, h, label in ROWS}
    drawn = [texts(tokenizer, examples, seed) for seed in range(20)]
    assert all(len(found) == 3 for found in drawn), "a premise without a contradiction is left out"
    for found in drawn:
        for premise, positive, hard in found:
            assert known[premise, positive] == "entailment" and known[premise, hard] == "contradiction"
    assert {found[0][2] for found in drawn} == {"a man sleeps", "nobody walks"}, "drawn anew"
    assert drawn[3] == texts(tokenizer, examples, 3)
    assert examples.sharing(np.array([0])).tolist() == [0, 1]


def test_filled_every_premise_takes_part(tmp_path: Path, pieces: Any) -> None:
    tokenizer, examples = index(tmp_path, pieces, ROWS, fill=True)
    contradictions = {h for _, h, label in ROWS if label == "contradiction"}
    drawn = [texts(tokenizer, examples, seed) for seed in range(20)]
    assert [row[:2] for row in drawn[0]] == [
        ("a man walks", "somebody walks"),
        ("a man walks", "a man moves"),
        ("two dogs play", "animals play"),
        ("a boat floats", "something floats"),
        ("the rain stops", "the rain stops"),
    ]
    assert {found[3][2] for found in drawn} == contradictions, "of any premise"
    assert {found[4][2] for found in drawn} == {"it rains on"}


def test_other_labels_may_stand_for_both(tmp_path: Path, pieces: Any) -> None:
    rows = [(p, h, {"entailment": "1", "contradiction": "0"}.get(label, "2")) for p, h, label in ROWS]
    _, examples = index(tmp_path, pieces, rows, positive="1", negative="0")
    assert len(examples) == 3


def test_what_cannot_be(tmp_path: Path, pieces: Any) -> None:
    with pytest.raises(DataError, match=r"takes three columns, premise, hypothesis and label, and the corpus has 2"):
        index(tmp_path / "1", pieces, [row[:2] for row in ROWS])
    with pytest.raises(DataError, match=r"No row has the label 'entails'. The labels are contradiction, entailment, n"):
        index(tmp_path / "2", pieces, ROWS, positive="entails")
    with pytest.raises(DataError, match=r"found 1 premises with a hypothesis of both labels"):
        index(tmp_path / "3", pieces, ROWS[5:])
