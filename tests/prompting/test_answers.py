from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import f1_score

from mirrormask.core.errors import MirrormaskError
from mirrormask.prompting.answers import Answers, measure, wilson
from mirrormask.prompting.cloze_rows import Examples


def test_measures_are_scikit_learn_s() -> None:
    rng = np.random.default_rng(3)
    gold, predicted = rng.integers(0, 3, 50), rng.integers(0, 3, 50)
    found = measure(predicted, gold, 3)
    assert found["macro_f1"] == pytest.approx(f1_score(gold, predicted, average="macro"))
    assert found["accuracy"] == pytest.approx((gold == predicted).mean())
    assert found["low"] < found["accuracy"] < found["high"]
    assert found["majority"] == pytest.approx(np.bincount(gold).max() / 50)


def test_groups_are_right_as_a_whole() -> None:
    gold, predicted = np.array([0, 1, 0, 1]), np.array([0, 1, 1, 1])
    found = measure(predicted, gold, 2, ["a", "a", "b", "b"])
    assert found["exact_match"] == 0.5
    assert found["f1a"] == pytest.approx(f1_score(gold, predicted, pos_label=0))


def test_the_interval_of_a_share() -> None:
    low, high = wilson(0, 10)
    assert low == pytest.approx(0, abs=1e-12)
    assert high == pytest.approx(0.2775, abs=1e-3)


def test_answers_are_written(tmp_path: Path) -> None:
    examples = Examples([{"text": "a, walk"}, {"text": "a run"}])
    answers = Answers(("good", "bad"), np.log([[0.7, 0.3], [0.4, 0.6]]), np.log([[0.2, 0.8], [0.4, 0.6]]))
    answers.save(tmp_path / "a.jsonl", examples)
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert rows[0] == {
        "label": "good",
        "probability": 0.7,
        "uncalibrated_label": "bad",
        "p(good)": 0.7,
        "p(bad)": 0.3,
        "text": "a, walk",
    }
    answers.save(tmp_path / "a.csv", examples)
    assert (tmp_path / "a.csv").read_text().splitlines()[1] == 'good,0.7,bad,0.7,0.3,"a, walk"'
    with pytest.raises(MirrormaskError, match=".csv or .jsonl"):
        answers.save(tmp_path / "a.txt", examples)
    own = Answers(("0", "1"), np.log([[0.7, 0.3]]))
    assert next(iter(own.rows(Examples([{"a": "x"}], [], [("it broke", "it sang")]))))["label"] == "it broke"
