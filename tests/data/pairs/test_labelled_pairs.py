from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples
from mirrormask.data.pairs.labelled_pairs import LabelledPairs, ScoredPairs
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens

ROWS = [
    ("the boat is red", "a boat has a color", "entailment"),
    ("the boat is red", "the boat is blue", "contradiction"),
    ("a child reads", "a child is quiet", "neutral"),
    ("a cat sleeps", "an animal rests", "entailment"),
]


@pytest.fixture
def indexed(tmp_path: Path, tiny: Callable[..., Any]) -> Callable[..., Examples]:
    def build(pairing: Any, rows: list[tuple[str, ...]]) -> Examples:
        corpus = build_corpus(rows, tmp_path / f"corpus-{len(list(tmp_path.iterdir()))}")
        found: Examples = pairing.index(corpus, LazyTokens(corpus, tiny().tokenizer, max_tokens=32), tmp_path)
        return found

    return build


def test_labels_are_numbered_by_name_and_texts_stay_apart(indexed: Callable[..., Examples]) -> None:
    examples = indexed(LabelledPairs(), ROWS)
    every = np.arange(4)
    assert examples.labels(every[::-1]).tolist() == [1, 2, 0, 1]  # type: ignore[union-attr]
    assert len(examples.columns(every, 0)) == 2
    assert examples.sharing(np.array([1])).tolist() == [0, 1], "one premise is not on both sides of a split"


def test_scores_end_at_one(indexed: Callable[..., Examples]) -> None:
    rows = [(a, b, score) for (a, b, _), score in zip(ROWS, ("0", "2.5", "5", "4"), strict=True)]
    for pairing in (ScoredPairs(), ScoredPairs(highest=5)):
        labels = indexed(pairing, rows).labels(np.arange(4))
        assert labels is not None
        assert labels.dtype == np.float32
        assert labels.tolist() == pytest.approx([0, 0.5, 1, 0.8])
    halved = indexed(ScoredPairs(highest=10), rows).labels(np.arange(4))
    assert halved is not None
    assert halved.tolist() == pytest.approx([0, 0.25, 0.5, 0.4])


@pytest.mark.parametrize(
    ("pairing", "labels", "says"),
    [
        (LabelledPairs(), ["same"] * 4, "All 4 pairs have the label 'same', so there is nothing to tell apart"),
        (LabelledPairs(classes=2), list("abca"), r"have 3 labels \(a, b, c\), and the 'classes' are 2. Set as many"),
        (ScoredPairs(), ["1", "2", "high", "4"], "Row 3 has 'high' where its score should be a number"),
        (ScoredPairs(), ["1", "2", "nan", "4"], "Row 3 has 'nan' where its score should be a number"),
        (ScoredPairs(), ["-1", "2", "3", "4"], "must differ and lie between 0 and 4; these lie between -1 and 4"),
        (ScoredPairs(highest=1), ["0", "2", "3", "4"], "must differ and lie between 0 and 1; these lie between 0"),
        (ScoredPairs(), ["3"] * 4, "must differ"),
    ],
)
def test_what_tells_nothing_is_refused(
    indexed: Callable[..., Examples], pairing: Any, labels: list[str], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        indexed(pairing, [(a, b, label) for (a, b, _), label in zip(ROWS, labels, strict=True)])


@pytest.mark.parametrize("pairing", [LabelledPairs(), ScoredPairs()])
def test_two_columns_are_refused(indexed: Callable[..., Examples], pairing: Any) -> None:
    with pytest.raises(DataError, match="takes three columns, two texts and a .*, and the corpus has 2"):
        indexed(pairing, [(a, b) for a, b, _ in ROWS])
