"""`multitask` and `lexicon` from the command line, on small tables and the tiny model."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]
USAGE, DATA, MODEL = 2, 3, 4


@pytest.fixture(scope="module")
def tasks(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path, sentences: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("tasks")
    with (folder / "mood.csv").open("w", newline="") as stream:
        rows = [[text, "good" if "boat" in text else "bad"] for text in sentences[:60]]
        csv.writer(stream).writerows([["text", "mood"], *rows])
    with (folder / "near.csv").open("w", newline="") as stream:
        pairs = zip(sentences[:60], sentences[60:120], strict=True)
        csv.writer(stream).writerows([["sentence1", "sentence2", "near"], *([*p, n % 6] for n, p in enumerate(pairs))])
    toml = f"""
[model]
name = "{tiny_folder}"
[training]
steps = 4
learning_rate = 1e-3
max_length = 24
[tasks.mood]
kind = "classification"
train = "{folder}/mood.csv"
label = "mood"
[tasks.near]
kind = "similarity"
train = "{folder}/near.csv"
dev = "{folder}/near.csv"
label = "near"
"""
    (folder / "tasks.toml").write_text(toml)
    return folder / "tasks.toml"


@pytest.fixture(scope="module")
def run(tasks: Path, cli: Cli) -> Path:
    out = tasks.parent / "run"
    ran = cli("multitask", "train", tasks, "--out", out)
    assert ran.code == 0, ran
    assert "mood: 54 rows to learn from, 6 rows to measure on." in ran.err
    said = " ".join(ran.out.split())
    assert "mood accuracy" in said
    assert "near Pearson" in said
    return out


def test_a_model_answers_its_tasks(tasks: Path, run: Path, cli: Cli, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text("id,text\n1,a wooden boat\n2,the long letter\n")
    ran = cli(
        "multitask",
        "predict",
        tasks,
        "--model",
        run,
        "--task",
        "mood",
        "--data",
        new,
        "--out",
        tmp_path / "a",
        "--json",
    )
    assert (ran.code, ran.json["rows"]) == (0, {"mood": 2})
    rows = list(csv.DictReader((tmp_path / "a" / "mood.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == ["1", "2"]
    assert {row["prediction"] for row in rows} <= {"good", "bad"}
    ran = cli("multitask", "predict", tasks, "--model", run, "--task", "near", "--out", tmp_path / "b")
    assert (ran.code, "near: 60 rows in" in ran.out) == (0, True), "the dev file that the task names"
    rows = list(csv.DictReader((tmp_path / "b" / "near.csv").read_text().splitlines()))
    assert all(0 <= float(row["prediction"]) <= 5 for row in rows)


def test_what_is_refused(tasks: Path, run: Path, cli: Cli, tmp_path: Path, tiny_folder: Path) -> None:
    def refused(code: int, words: str, *arguments: Any) -> None:
        ran = cli("multitask", *arguments)
        assert ran.code == code
        assert words in " ".join(ran.err.split())

    out = ("--out", tmp_path / "out")
    refused(USAGE, "holds a finished run", "train", tasks, "--out", run)
    refused(USAGE, "must be one of mood, near. Got 'moood'", "train", tasks, "--task", "moood", *out)
    refused(USAGE, "its dev is a share of its training rows", "predict", tasks, "--model", run, *out)
    refused(USAGE, "--data is for one task", "predict", tasks, "--model", run, "--data", tasks, *out)
    refused(MODEL, "has no heads of tasks", "predict", tasks, "--model", tiny_folder, "--task", "near", *out)
    broken = tmp_path / "broken.toml"
    broken.write_text(tasks.read_text().replace('label = "near"', 'label = "closeness"'))
    refused(DATA, "closeness", "train", broken, *out)
    broken.write_text(tasks.read_text().replace('label = "near"', 'label = "near"\nscale = [0, 3]'))
    refused(DATA, "row 5: 'near' must be a number from 0 to 3. Got '4'", "train", broken, *out)


def test_a_lexicon_of_a_model_and_itself(cli: Cli, tiny_folder: Path, tmp_path: Path) -> None:
    words = [
        "boat",
        "clock",
        "apples",
        "street",
        "letter",
        "bread",
        "baker",
        "pilot",
        "cat",
        "river",
        "garden",
        "storm",
    ]
    for name, part in (("train", words[:8]), ("test", words[8:])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"{word}\t{word}\n" for word in part))
    files = ("--train", tmp_path / "train.tsv", "--test", tmp_path / "test.tsv")
    ran = cli("lexicon", tiny_folder, tiny_folder, *files, "--mapping", "none", "--resamples", "20", "--json")
    assert ran.code == 0, ran
    assert ran.json["scores"]["words"]["precision_at_1_percent"]["value"] == 100, "every word is nearest to itself"
    assert ran.json["candidates"] == 12
    shown = cli("lexicon", tiny_folder, tiny_folder, *files, "--mapping", "none", "--resamples", "20")
    assert "4 words, 12 candidates; chance is 8.33." in shown.out
    assert cli("lexicon", tiny_folder, tiny_folder).code == USAGE


@pytest.mark.parametrize("verb", ["train", "predict"])
def test_help_names_what_every_command_has(cli: Cli, verb: str) -> None:
    shown = cli("multitask", verb, "--help")
    assert shown.code == 0
    assert all(option in shown.out for option in ("--json", "--quiet", "--task", "--out"))
    assert verb in cli("multitask", "--help").out
