"""`classify` as a user runs it: learn, predict, judge, and what it says to bad input."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sentence_transformers import SentenceTransformer

Cli = Callable[..., Any]
WORDS = {"boat": "water", "clock": "time", "apples": "food"}
QUICK = ("--steps", "30", "--batch-size", "16", "--learning-rate", "3e-3", "--head-rate", "3", "--precision", "fp32")


@pytest.fixture(scope="module")
def table(sentences: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a table of texts, each with the class that one word tells."""
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["id", "text", "label"])
        for number, text in enumerate(sentences):
            writer.writerows([number, text, label] for word, label in WORDS.items() if word in text)
    return path


@pytest.fixture(scope="module")
def trained(cli: Cli, table: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    out = tmp_path_factory.mktemp("run") / "my classifier"
    options = ("--model", tiny_folder, "--objective", "cross-entropy", "--held-out", "0.3")
    return out, cli("classify", "train", table, "--out", out, *options, *QUICK)


def test_train_says_what_it_does_and_what_to_type_next(trained: tuple[Path, Any]) -> None:
    out, ran = trained
    assert ran.code == 0, ran.err
    assert f"Classifier: {out / 'model'}\n" in ran.out
    assert f"mirrormask classify predict '{out}' FILE --out labelled.csv" in ran.out
    assert "Calibration error" in ran.out and "Kept the checkpoint of step" in ran.out
    assert "texts of 3 classes" in ran.err and "to choose and calibrate by" in ran.err
    assert SentenceTransformer(str(out / "model"), device="cpu").encode(["a boat"]).shape == (1, 32)


def test_predict_keeps_every_row_in_its_place(cli: Cli, trained: tuple[Path, Any], tmp_path: Path) -> None:
    source = tmp_path / "new.csv"
    source.write_text("id,text\n1,the gray cat paints a wooden boat\n2,\n3,a child finds two red apples\n", "utf-8")
    for ending in (".csv", ".tsv"):
        ran = cli("classify", "predict", trained[0], source, "--out", tmp_path / f"out{ending}", "--every")
        assert ran.code == 0, ran.err
        with (tmp_path / f"out{ending}").open(newline="", encoding="utf-8") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t" if ending == ".tsv" else ","))
        assert [row["id"] for row in rows] == ["1", "2", "3"]
        assert [row["label"] for row in rows] == ["water", "", "food"]
        assert 0 < float(rows[0]["probability"]) <= 1 and rows[1]["probability"] == ""
        assert sum(float(rows[0][name]) for name in ("food", "time", "water")) == pytest.approx(1, abs=1e-4)
    assert "3 rows in" in ran.out and "1 row without text got no label." in ran.out
    shown = cli("classify", "predict", trained[0], source)
    lines = [json.loads(line) for line in shown.out.splitlines()]
    assert [line["label"] for line in lines] == ["water", None, "food"]
    summary = cli("classify", "predict", trained[0], source, "--out", tmp_path / "o.jsonl", "--json").json
    assert summary["rows"] == 3 and summary["empty"] == 1 and summary["labels"] == {"water": 1, "food": 1}


def test_a_label_column_is_not_written_over(cli: Cli, trained: tuple[Path, Any], table: Path, tmp_path: Path) -> None:
    assert cli("classify", "predict", trained[0], table, "--out", tmp_path / "o.jsonl").code == 0
    rows = [json.loads(line) for line in (tmp_path / "o.jsonl").read_text().splitlines()]
    assert sum(row["label"] == row["predicted_label"] for row in rows) > 0.75 * len(rows)


def test_evaluate_tells_everything(cli: Cli, trained: tuple[Path, Any], table: Path, tmp_path: Path) -> None:
    figure = tmp_path / "confusion.svg"
    ran = cli("classify", "evaluate", trained[0], table, "--figure", figure)
    assert ran.code == 0, ran.err
    for word in ("accuracy", "macro-F1", "weighted F1", "calibration error", "entropy in bits", "water", "Figure:"):
        assert word in ran.out, word
    assert figure.read_bytes().startswith(b"<svg")
    found = cli("classify", "evaluate", trained[0], table, "--json").json
    assert found["accuracy_percent"] > 75 and len(found["confusion"]) == 3
    assert found["rows"] == sum(each["rows"] for each in found["classes"])


@pytest.mark.parametrize(
    ("rows", "options", "code", "says"),
    [
        ("text,label\na boat,water\na ship,watr\n", (), 3, "not learned: 'watr'. Did you mean 'water'"),
        ("text,label\na boat,1\n", (), 3, "not learned: '1'.*--names"),
        ("text,label\n,water\n", (), 3, "row 1: 'text' must be a text that is not empty"),
        ("text,kind\na boat,water\n", (), 3, "none of them is plainly the label. Name it with --label-column"),
        ("text,label\na boat,sea\n", ("--skip-unseen",), 3, "No row of .* has a label that the classifier has learned"),
    ],
)
def test_evaluate_refuses_what_it_cannot_judge(
    cli: Cli, trained: tuple[Path, Any], tmp_path: Path, rows: str, options: tuple[str, ...], code: int, says: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(rows, encoding="utf-8")
    ran = cli("classify", "evaluate", trained[0], path, *options)
    assert ran.code == code
    assert re.search(says, " ".join(ran.err.split())), ran.err


def test_unseen_labels_may_be_left_out_and_numbers_named(cli: Cli, trained: tuple[Path, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("text,label\na boat,water\na ship,watr\n", encoding="utf-8")
    found = cli("classify", "evaluate", trained[0], path, "--skip-unseen", "--json").json
    assert (found["rows"], found["skipped"]) == (1, 1)
    path.write_text("text,label\na boat,2\n", encoding="utf-8")
    found = cli("classify", "evaluate", trained[0], path, "--names", "food,time,water", "--json").json
    assert [each["rows"] for each in found["classes"]] == [0, 0, 1]


@pytest.mark.parametrize(
    ("rows", "code", "says"),
    [
        ("text,label\na boat,water\na ship,water\n", 3, "at least two classes, and all rows of .* 'water'"),
        ("text,label\na boat,water\n  ,time\n", 3, "row 2: 'text' must be a text"),
        ("text,label\na boat,water\na clock,\n", 3, "row 2: 'label' must be a label"),
        ("body,label\na boat,water\n", 3, "--text-column"),
    ],
)
def test_train_refuses_what_it_cannot_learn(
    cli: Cli, tiny_folder: Path, tmp_path: Path, rows: str, code: int, says: str
) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(rows, encoding="utf-8")
    ran = cli("classify", "train", path, "--out", tmp_path / "run", "--model", tiny_folder)
    assert ran.code == code and re.search(says, " ".join(ran.err.split())), ran.err


def test_what_is_no_classifier_and_wrong_endings(
    cli: Cli, trained: tuple[Path, Any], table: Path, tmp_path: Path, tiny_folder: Path
) -> None:
    assert cli("classify", "predict", tiny_folder, table).code == 4
    ran = cli("classify", "predict", trained[0], table, "--out", tmp_path / "x.txt")
    assert ran.code == 2 and "Predictions are written as .jsonl, .csv, .tsv" in ran.err
    ran = cli("classify", "predict", trained[0], table, "--json")
    assert ran.code == 2 and "Give them --out" in ran.json["error"]
    ran = cli("classify", "evaluate", trained[0], table, "--figure", tmp_path / "x.gif")
    assert ran.code == 2 and ".png or .svg" in ran.err
    ran = cli("classify", "predict", trained[0], table, "--out", table)
    assert ran.code == 2 and "would write over" in ran.err
