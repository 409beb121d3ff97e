"""`mirrormask prompt` as a user runs it, and every bad input that has a sentence of its own."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

USAGE, DATA, MODEL = 2, 3, 4
LABELS = ("--labels", "person=baker|pilot,animal=cat")


@pytest.fixture
def few(tmp_path: Path) -> Path:
    objects = ("a wooden boat", "the broken clock", "two red apples", "an empty street")
    rows = [
        f"{who} {verb} {what}.,{label}"
        for what in objects
        for verb in ("paints", "finds")
        for who, label in (("the old baker", "person"), ("the gray cat", "animal"))
    ]
    path = tmp_path / "few.csv"
    path.write_text("\n".join(["text,label", *rows]))
    return path


@pytest.fixture
def ask(cli: Cli, tiny_folder: Path, tmp_path: Path) -> Cli:
    """Return a command of prompt with the tiny model: ``ask("score", "It [MASK].", file)``."""
    return lambda *arguments: cli("prompt", *arguments, "--model", tiny_folder)


def refused(ran: Any, code: int, says: str) -> None:
    assert ran.code == code, ran
    assert says in ran.err
    assert ran.out == ""


def test_every_part_has_help(cli: Cli) -> None:
    assert "prompt" in cli("--help").out
    for part in ("score", "train", "predict", "evaluate"):
        assert part in cli("prompt", "--help").out
        ran = cli("prompt", part, "--help")
        assert ran.code == 0
        assert "--json" in ran.out
        assert "--quiet" in ran.out


def test_labels_without_training(ask: Cli, few: Path, tmp_path: Path) -> None:
    ran = ask("score", "this means [MASK].", few, *LABELS, "--json")
    assert (ran.code, ran.err) == (0, "")
    assert ran.json["rows"] == 16
    assert set(ran.json["measures"]) == {"calibrated", "uncalibrated"}
    shown = ask("score", "this means [MASK].", few, *LABELS, "--out", tmp_path / "labels.csv")
    assert shown.code == 0
    assert "Calibrated: accuracy" in shown.out
    with (tmp_path / "labels.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 16
    assert set(rows[0]) == {"label", "probability", "uncalibrated_label", "p(person)", "p(animal)", "text"}
    plain = ask("score", "this means [MASK].", few, *LABELS, "--no-calibration", "--json")
    assert set(plain.json["measures"]) == {"uncalibrated"}
    other = ask("score", "this means [MASK].", few, "--labels", "boat,clock")
    assert other.code == 0
    assert "accuracy" not in other.out, "the file's labels are others, so nothing is measured"


def test_words_are_found(ask: Cli, few: Path) -> None:
    ran = ask("score", "this means [MASK].", few, "--find-words", few, "--json")
    assert ran.code == 0
    assert set(ran.json["found_words"]) == {"person", "animal"}
    assert "Words found" in ask("score", "this means [MASK].", few, "--find-words", few).out


def test_a_few_examples_are_learned_and_used(ask: Cli, cli: Cli, few: Path, tmp_path: Path) -> None:
    out = tmp_path / "prompt"
    options = (*LABELS, "--steps", "40", "--learning-rate", "0.003", "--out", out)
    ran = ask("train", "this means [MASK].", few, *options)
    assert ran.code == 0
    assert "1 tuned on 16 examples" in ran.out
    found = cli("prompt", "evaluate", out, few, "--json")
    assert found.json["measures"]["accuracy"] == 1.0
    done = cli("prompt", "predict", out, few, "--out", tmp_path / "labels.jsonl", "--json")
    assert done.json["counts"] == {"person": 8, "animal": 8}
    assert len((tmp_path / "labels.jsonl").read_text().splitlines()) == 16


def test_unlabelled_text_makes_a_classifier(ask: Cli, cli: Cli, few: Path, tmp_path: Path) -> None:
    out = tmp_path / "prompt"
    quick = ("--steps", "2", "--distill-steps", "2", "--json", "--out", out)
    ran = ask("train", "this means [MASK].", few, *LABELS, "--unlabelled", few, *quick)
    assert ran.json["mode"] == "pet"
    assert (out / "classifier" / "modules.json").is_file()
    assert cli("prompt", "predict", out, few, "--json").json["rows"] == 16
    zero = ask(
        *("train", "this means [MASK].", *LABELS, "--unlabelled", few, "--mode", "ipet", "--generations", "1"), *quick
    )
    assert (zero.code, zero.json["examples"]) == (0, 0)


def test_soft_tokens_from_the_command_line(ask: Cli, few: Path, tmp_path: Path) -> None:
    out = tmp_path / "prompt"
    ran = ask("train", "{text} [P*2] [MASK]", few, *LABELS, "--freeze", "--steps", "2", "--out", out)
    assert ran.code == 0
    assert (out / "member-00" / "soft_prompt.safetensors").is_file()
    assert not (out / "member-00" / "model").exists()
    assert json.loads((out / "prompt.json").read_text())["facts"]["frozen"] is True


def test_bad_input_has_a_sentence_each(ask: Cli, cli: Cli, few: Path, tmp_path: Path, tiny_folder: Path) -> None:
    refused(ask("score", "It was good.", few, *LABELS), USAGE, "has no [MASK]")
    refused(ask("score", "It was [MASK].", few), USAGE, "Labels need words")
    refused(ask("score", "It was [MASK].", few, "--labels", "boat,cat="), USAGE, "The label 'cat' has no word")
    refused(ask("score", "It was [MASK].", few, "--labels", "boats,cat"), USAGE, "'boats' is 2 tokens")
    refused(ask("score", "It was [MASK].", few, *LABELS, "--unlabelled", "no.txt"), DATA, "There is no file")
    refused(ask("score", "It was [MASK]." + " boat" * 90, few, *LABELS), USAGE, "leaves no room for the mask")
    refused(
        ask("train", "It was [MASK].", few, *LABELS, "--mode", "pet", "--out", tmp_path / "x"), DATA, "--unlabelled"
    )
    refused(ask("train", "It was [MASK].", few, "--labels", "a=boat,b=cat", "--out", tmp_path / "x"), DATA, "row 1")
    refused(ask("train", "It was [MASK].", few, *LABELS, "--out", few), USAGE, "write over")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "diary.txt").write_text("a day")
    refused(ask("train", "It was [MASK].", few, *LABELS, "--out", tmp_path / "mine"), USAGE, "holds something else")
    assert (tmp_path / "mine" / "diary.txt").read_text() == "a day"
    refused(ask("score", "{text} [P] [MASK]", few, *LABELS), USAGE, "mean nothing before they are learned")
    refused(ask("score", "mrr", few), USAGE, "Did you mean 'mr'")
    refused(cli("prompt", "predict", tiny_folder, few), MODEL, "holds no tuned prompt")
    assert not (tmp_path / "x").exists()
