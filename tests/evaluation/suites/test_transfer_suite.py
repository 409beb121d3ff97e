from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.transfer_data import load_transfer
from mirrormask.data.text import sources
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.evaluate import evaluate
from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.suites import suites
from mirrormask.evaluation.suites.transfer_suite import PENALTIES, TransferTask, cut, predictions
from mirrormask.evaluation.vectors import TextVectors

Put = Callable[[str, str, list[dict[str, Any]]], Path]
GOOD, BAD, PLAIN = ("warm", "kind", "bright"), ("cold", "rude", "dull"), ("room", "soup", "walk", "book", "song")


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Put:
    """Return a function that puts a split of a transfer task under a local root; no hub is asked."""
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "_silent_until", [float("inf")])
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)

    def write(task: str, split: str, rows: list[dict[str, Any]]) -> Path:
        path = tmp_path / "senteval" / task / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    return write


def reviews(count: int, seed: int, classes: int = 2) -> list[dict[str, Any]]:
    """Return texts whose words tell their class most of the time."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        label = number % classes
        shares = (label + 0.5) / classes
        words = [str(random.choice(GOOD if random.random() < shares else BAD)) for _ in range(3)]
        rows.append({"text": " ".join([*words, *map(str, random.choice(PLAIN, 3)), str(number)]), "label": label})
    return rows


def encode(texts: list[str]) -> NDArray[Any]:
    known = (*GOOD, *BAD, *PLAIN)
    return np.array([[text.split().count(word) for word in known] for text in texts], dtype=np.float32)


def alone(x: NDArray[Any], y: NDArray[Any], train: NDArray[Any], penalty: float, test: NDArray[Any]) -> NDArray[Any]:
    model = LogisticRegression(C=1 / (penalty * len(train)), tol=1e-8, max_iter=1000, solver="newton-cholesky")
    found: NDArray[Any] = model.fit(x[train].astype(np.float64), y[train]).predict(x[test].astype(np.float64))
    return found


def test_nested_folds_are_those_of_scikit_learn_fitted_one_by_one(put: Put) -> None:
    put("mr", "all", reviews(120, seed=1))
    data = load_transfer("mr")
    x, y = encode(list(data.left)), data.labels
    rows, expected = np.arange(len(y)), np.empty(len(y), dtype=np.int64)
    for fold in cut(y, rows, 4):
        rest = np.setdiff1d(rows, fold)
        scores = [
            np.mean([(alone(x, y, np.setdiff1d(rest, held), p, held) == y[held]).mean() for held in cut(y, rest, 4)])
            for p in PENALTIES
        ]
        expected[fold] = alone(x, y, rest, PENALTIES[int(np.argmax(scores))], fold)
    found = predictions(x, data, folds=4)
    assert abs((found == y).mean() - (expected == y).mean()) <= 1 / len(y)
    assert (found == expected).mean() > 0.98
    assert 0.6 < (found == y).mean() < 0.99


def test_fixed_splits_choose_on_validation_and_report_on_test(put: Put) -> None:
    for seed, (split, count) in enumerate({"train": 90, "validation": 30, "test": 40}.items()):
        put("sst5", split, reviews(count, seed=seed, classes=5))
    data = load_transfer("sst5")
    x, y = encode(list(data.left)), data.labels
    train, held, test = data.splits.values()
    scores = [(alone(x, y, train, p, held) == y[held]).mean() for p in PENALTIES]
    expected = alone(x, y, train, PENALTIES[int(np.argmax(scores))], test)
    assert (predictions(x, data) == expected).mean() > 0.97
    task = TransferTask(data, 10)
    assert task.units == 40 and len(list(task.texts())) == 160


def test_pairs_are_told_by_difference_and_product_and_have_f1(put: Put) -> None:
    random = np.random.default_rng(4)
    for split, count in {"train": 60, "validation": 20, "test": 40}.items():
        rows = []
        for number in range(count):
            left = " ".join(map(str, random.choice((*GOOD, *BAD), 3)))
            right = left if number % 2 else " ".join(map(str, random.choice((*GOOD, *BAD), 3)))
            rows.append({"sentence1": left, "sentence2": right, "label": str(number % 2)})
        put("mrpc", split, rows)
    data = load_transfer("mrpc")
    assert [len(rows) for rows in data.splits.values()] == [80, 40], "validation is part of training, as in SentEval"
    task = TransferTask(data, 5)
    vectors = TextVectors.encode(encode, task.texts())
    found = task.statistics(vectors, seed=0)
    u, v = vectors.of(data.left), vectors.of(data.right)
    predicted = predictions(np.concatenate([np.abs(u - v), u * v], axis=1), data, folds=5)
    gold = data.labels[data.splits["test"]]
    assert on_all(found["accuracy_percent"], 40) == pytest.approx((predicted == gold).mean())
    assert on_all(found["f1_percent"], 40) == pytest.approx(f1_score(gold, predicted))


def test_trec_is_read_by_its_coarse_classes(put: Put) -> None:
    fine = ["DESC:manner", "HUM:ind", "LOC:city", "DESC:def"]
    for split in ("train", "test"):
        rows = [{"text": f"what about the {PLAIN[n % 5]} number {n} ?", "label": fine[n % 4]} for n in range(24)]
        put("trec", split, rows)
    data = load_transfer("trec")
    assert data.classes == ("DESC", "HUM", "LOC")
    assert TransferTask(data, 10).folds == 6, "no more folds than the rarest class has rows"


def test_the_suite_is_an_evaluation_with_tables_and_page(put: Put, tmp_path: Path) -> None:
    put("mr", "all", reviews(60, seed=1))
    put("cr", "all", reviews(60, seed=2))
    seen: list[int] = []

    def counting(texts: list[str]) -> NDArray[Any]:
        seen.append(len(texts))
        return encode(texts)

    found = evaluate([counting], suite="transfer", names=["words"], resamples=50)
    assert seen == [120], "one pass"
    assert found.sts is None and found.geometry is None
    assert found.verdict()[0].startswith("words scores ")
    assert "in accuracy on the average over 2 of 8 tasks (MR, CR)" in found.verdict()[0]
    assert found.verdict()[1] == "Not measured, because their data was not found: SUBJ, MPQA, SST-2, SST-5, TREC, MRPC."
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))["suites"]["transfer"]
    assert content["tasks"]["mr"]["texts"] == 60 and next(iter(content["skipped"])) == "subj"
    assert [row[0] for row in found.tables()[0].rows] == ["MR", "CR", "average"]
    found.save_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").count("<figure>") == 1
    one = evaluate([encode, encode], suite=["transfer"], tasks=["cr"], names=["a", "b"], resamples=50)
    assert [row[0] for row in one.tables()[0].rows] == ["CR"]
    assert "no evidence that b and a differ in accuracy on CR" in one.verdict()[0]


def test_nothing_there_and_unknown_names(put: Put) -> None:
    with pytest.raises(DatasetMissing, match="No data was found for mr"):
        evaluate([encode], suite="transfer", tasks=["mr"])
    with pytest.raises(MirrormaskError, match=r"There is no suite 'transfr'\. Did you mean 'transfer'"):
        evaluate([encode], suite="transfr")
    with pytest.raises(MirrormaskError, match="mrr"):
        evaluate([encode], suite="transfer", tasks=["mrr"])
    with pytest.raises(MirrormaskError, match=r"The 'folds' of the suite transfer must be at least 2. Got 1."):
        suites.build("transfer", folds=1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"text": " "}, r"row 3: 'text' must be a text that is not empty. Got ' '."),
        ({"label": None}, r"row 3: 'label' must be the name or number of a class. Got None."),
    ],
)
def test_a_row_that_is_not_whole_is_named(put: Put, change: dict[str, Any], message: str) -> None:
    rows = reviews(20, seed=0)
    rows[2] |= change
    put("mr", "all", rows)
    with pytest.raises(DataError, match=message):
        load_transfer("mr")


def test_columns_and_classes_that_do_not_fit(put: Put) -> None:
    put("mr", "all", [{"sentence": "a warm room", "label": 1}] * 9)
    with pytest.raises(DataError, match=r"has no column 'text'. It has sentence, label."):
        load_transfer("mr")
    put("mr", "all", [{"text": f"a warm room {n}", "label": 1} for n in range(9)])
    with pytest.raises(DataError, match="have the same label"):
        load_transfer("mr")
    put("mr", "all", [{"text": f"a warm room {n}", "label": int(n == 0)} for n in range(9)])
    with pytest.raises(DataError, match="has a class with 1 rows, too few to cut folds of"):
        suites.build("transfer").load("mr")
    put("sst2", "train", reviews(20, seed=0))
    put("sst2", "validation", reviews(20, seed=1))
    put("sst2", "test", reviews(20, seed=2, classes=3))
    with pytest.raises(DataError, match="has the label '2', which no row of"):
        load_transfer("sst2")
