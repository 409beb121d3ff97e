from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.evaluation.own.own_report import evaluate_own


def letters(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[text.count(chr(97 + place)) for place in range(26)] for text in texts], dtype=np.float32) + 0.01


def noise(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(size=(len(texts), 16)).astype(np.float32)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    alphabet = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    path = tmp_path / "faq.tsv"
    lines = ["query\tdocument"]
    for _ in range(80):
        word = "".join(random.choice(alphabet, size=6))
        lines.append(f"{word}\t{''.join(random.permutation(list(word)))} {''.join(random.choice(alphabet, size=12))}")
    path.write_text("\n".join(lines) + "\n")
    return path


def test_two_models_on_a_file_of_queries(questions: Path) -> None:
    report = evaluate_own([noise, letters], questions, names=["noise", "letters"], resamples=300)
    assert report.comparison.metrics == [
        "recall_at_1_percent",
        "recall_at_5_percent",
        "recall_at_10_percent",
        "mrr_at_10_percent",
        "ndcg_at_10_percent",
    ]
    assert report.verdicts()[0].startswith("letters is better than noise by")
    assert report.verdicts()[0].endswith("in MRR@10 on faq.tsv.")
    content = json.loads(json.dumps(report.to_dict()))
    assert (content["kind"], content["units"], content["unit"]) == ("retrieval", 80, "queries")
    score = content["scores"]["letters"]["mrr_at_10_percent"]
    assert 0 <= score["low"] < score["value"] < score["high"] <= 100


def test_the_seed_decides_everything(questions: Path) -> None:
    first, again, other = (evaluate_own([letters], questions, resamples=50, seed=seed).to_dict() for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_named_columns_reach_the_reader(tmp_path: Path) -> None:
    path = tmp_path / "moods.csv"
    path.write_text("words,mood\n" + "".join(f"{'aab' if n % 2 else 'xxy'} {n},{n % 2}\n" for n in range(20)))
    report = evaluate_own([letters], path, kind="labels", columns={"text": "words", "label": "mood"}, resamples=50)
    assert report.task.kind == "labels"
    assert report.comparison.score("knn_accuracy_percent", 0).value == 100.0
    assert report.verdicts() == []
