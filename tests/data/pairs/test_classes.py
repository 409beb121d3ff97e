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


@pytest.fixture
def pieces(tiny: Callable[..., Any]) -> Any:
    """A tokenizer that knows every letter."""
    return tiny(pooling="mean").tokenizer


def index(folder: Path, pieces: Any, rows: Sequence[tuple[str, ...]]) -> Examples:
    corpus = build_corpus(list(rows), folder / "corpus")
    tokens = build_tokens(corpus, pieces, folder / "tokens", max_tokens=30)
    return pairings.build("classes").index(corpus, tokens, folder / "pairs")


def test_texts_have_their_classes(tmp_path: Path, pieces: Any) -> None:
    rows = [("a red dog", "dogs"), ("one bird sang", "birds"), ("a small dog slept", "dogs")]
    examples = index(tmp_path, pieces, rows)
    (texts,) = examples.columns(np.array([2, 1]), 0)
    assert [pieces.decode(ids.tolist()) for ids in texts] == ["a small dog slept", "one bird sang"]
    labels = examples.labels(np.array([0, 1, 2]))
    assert labels is not None and labels.tolist() == [0, 1, 0]


def test_what_cannot_be(tmp_path: Path, pieces: Any) -> None:
    with pytest.raises(DataError, match=r"takes two columns, text and label, and the corpus has 1"):
        index(tmp_path / "1", pieces, [("a red dog",), ("one bird",)])
    with pytest.raises(DataError, match=r"All 2 texts have the label 'dogs', so there is nothing to tell apart"):
        index(tmp_path / "2", pieces, [("a red dog", "dogs"), ("a small dog", "dogs")])
    with pytest.raises(DataError, match=r"Each of the 2 labels has a single text"):
        index(tmp_path / "3", pieces, [("a red dog", "x"), ("a small dog", "y")])


def test_columns_take_so_many_rows_spread_over_the_file(tmp_path: Path, pieces: Any) -> None:
    corpus = build_corpus([(f"row {n}", f"partner {n}") for n in "abcdefghij"], tmp_path / "corpus")
    tokens = build_tokens(corpus, pieces, tmp_path / "tokens", max_tokens=30)
    examples = pairings.build("columns", size=4).index(corpus, tokens, tmp_path / "pairs")
    assert len(examples) == 4
    left, right = examples.columns(np.arange(4), 0)
    assert [pieces.decode(ids.tolist()) for ids in left] == ["row a", "row d", "row g", "row j"]
    assert [pieces.decode(ids.tolist()) for ids in right][2] == "partner g"
    with pytest.raises(DataError, match=r"was asked for 11 rows, and the corpus has 10"):
        pairings.build("columns", size=11).index(corpus, tokens, tmp_path / "pairs")
