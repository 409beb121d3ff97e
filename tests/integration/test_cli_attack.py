"""`attack` and `train-victim` from the command line, with real models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.conftest import Ran

Cli = Callable[..., Ran]


@pytest.fixture
def review_file(tmp_path: Path) -> Path:
    good, bad = ("red", "long", "young", "tall", "quiet"), ("broken", "empty", "gray", "old", "wooden")
    things = ("film", "story", "song", "play", "book", "scene")
    rows = [
        f"a {w} {t} about the old baker and the river,{y}"
        for ws, y in ((good, "good"), (bad, "bad"))
        for w in ws
        for t in things
    ]
    path = tmp_path / "reviews.csv"
    path.write_text("text,label\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_train_attack_report_and_sheet(cli: Cli, tiny_folder: Path, review_file: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    ran = cli(
        "train-victim",
        review_file,
        "--model",
        tiny_folder,
        "--epochs",
        "8",
        "--learning-rate",
        "0.01",
        "--batch-size",
        "8",
        "--out",
        victim,
        "--json",
    )
    assert ran.code == 0, ran.err
    assert ran.json["texts"] == 54
    out, sheet = tmp_path / "report.json", tmp_path / "sheet.csv"
    ran = cli(
        *("attack", victim, review_file, "--attack", "R/I", "--attack", "TextFooler", "--limit", "12"),
        *("--model", tiny_folder, "--vectors", tiny_folder, "--counted", "words", "--threshold", "0.2"),
        *("--transfer", victim, "--out", out, "--sheet", sheet),
    )
    assert ran.code == 0, ran.err
    saved = json.loads(out.read_text())
    assert saved["settings"]["texts"] == 12 and set(saved["outcomes"]) == {"R/I", "TextFooler"}
    assert "accuracy falls from" in ran.out
    assert "Found by R/I:" in ran.out and "[+" in ran.out
    ran = cli("attack", "--sheet", sheet)
    assert ran.code == 3 and "has no ratings yet" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("attack",), 2, "Name the classifier and the texts"),
        (("attack", "TINY", "FILE"), 4, "is no classifier of texts"),
        (("attack", "VICTIM", "nowhere.csv"), 3, "nowhere.csv"),
        (("attack", "VICTIM", "FILE", "--attack", "X"), 2, "The 'attack' of a plan must be one of"),
        (("attack", "VICTIM", "FILE", "--out", "r.pdf"), 2, "written as .html or .json"),
        (("attack", "VICTIM", "FILE", "--augment", "FILE"), 2, "belong together"),
        (("attack", "VICTIM", "FILE", "--text-column", "words"), 3, "has no column 'words'"),
        (("attack", "VICTIM", "FILE", "--out", "FILE"), 2, "would write over"),
        (("attack", "no_such:thing", "FILE"), 4, "could not be imported"),
        (("attack", "VICTIM", "LABELS"), 2, "The label 'other' is none of"),
        (("attack", "VICTIM", "CHINESE"), 3, "do not look English"),
        (("train-victim", "FILE", "--kind", "svm", "--out", "v"), 2, "The 'kind' of a victim must be one of"),
    ],
)
def test_bad_input_is_one_sentence(
    cli: Cli,
    tiny_folder: Path,
    review_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    code: int,
    said: str,
) -> None:
    from mirrormask.attack.word_classifiers import WordClassifier

    places = {"FILE": review_file, "TINY": tiny_folder, "VICTIM": tmp_path / "victim"}
    (tmp_path / "victim").mkdir()
    WordClassifier("word-cnn", ["lovely", "dull"], ["bad", "good"], width=4).save(tmp_path / "victim")
    for name, text in (
        ("LABELS", "text,label\na lovely film,other\n"),
        ("CHINESE", "text,label\n这是一部好电影,good\n"),
    ):
        places[name] = tmp_path / f"{name.lower()}.csv"
        places[name].write_text(text, encoding="utf-8")
    before = review_file.read_text()
    monkeypatch.chdir(tmp_path)
    ran = cli(*(places.get(each, each) for each in arguments))
    assert (ran.code, said in ran.err) == (code, True), ran.err
    assert "Traceback" not in ran.err and ran.out == ""
    assert review_file.read_text() == before
