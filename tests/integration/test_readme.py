"""Whatever the README shows works: its commands and its Python are run in order, on a tiny model and written text."""

from __future__ import annotations

import csv
import re
import shlex
import sys
from pathlib import Path

import pytest

from mirrormask.cli import app
from mirrormask.cli.output import run_safely
from mirrormask.models import names
from mirrormask.training.settings import Settings

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

NOT_RUN = [
    "pip install . && mirrormask quickstart",  # minutes long; the command is tested on a folder of its own
    'pip install ".[test]" && pytest',  # what runs this test
]
STEPS = 2


def blocks() -> list[tuple[str, str]]:
    """Return the language and the content of every code block, in order."""
    return [(language, content) for language, content in BLOCK.findall(README)]


def commands(block: str) -> list[str]:
    return [line for line in block.replace("\\\n", " ").splitlines() if line.strip()]


@pytest.fixture
def workplace(tmp_path: Path, tiny_folder: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files the README names, where a tiny model stands for those that ship and training is short."""
    models = tmp_path / "models"
    models.mkdir()
    for name in ("mini", "mini-sentence"):
        (models / name).symlink_to(tiny_folder, target_is_directory=True)
    data = tmp_path / "data"
    data.mkdir()
    here = tmp_path / "here"
    here.mkdir()
    text = "\n".join([*sentences, *(f"later {each}" for each in sentences)])
    (here / "my.txt").write_text(text, encoding="utf-8")
    (data / "wiki100k.txt").write_text("\n".join(sentences[:80]), encoding="utf-8")
    rows = [
        (one, other, 5 * (i % 4) / 3) for i, (one, other) in enumerate(zip(sentences, sentences[40:80], strict=False))
    ]
    pairs = [("sentence1", "sentence2", "score"), *rows]
    (data / "mteb" / "stsbenchmark-sts").mkdir(parents=True)
    for path in (here / "my-pairs.csv", data / "mteb" / "stsbenchmark-sts" / "validation.csv"):
        with path.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(pairs)
    for name in ("reviews.csv", "test.csv"):
        labeled = [
            ("text", "label"),
            *((f"{name} {each}", "good" if "finds" in each else "bad") for each in sentences[:24]),
        ]
        with (here / name).open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(labeled)
    labels = [f"{text},{'water' if 'boat' in text else 'land'}" for text in sentences[:60]]
    (here / "my-labels.csv").write_text("\n".join(["text,label", *labels]), encoding="utf-8")
    (here / "recipes").symlink_to(ROOT / "recipes", target_is_directory=True)
    monkeypatch.chdir(here)
    monkeypatch.setattr(names, "SHIPPED", models)
    monkeypatch.setenv("MIRRORMASK_DATA", str(data))
    monkeypatch.setattr(Settings, "total_steps", lambda self, batches_per_epoch: STEPS)
    return here


def test_every_block_runs(workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    ran: list[str] = []
    for language, content in blocks():
        if language == "python":
            exec(compile(content, "README.md", "exec"), {"__name__": "__main__"})
            ran.append("python")
            continue
        for line in commands(content):
            if line in NOT_RUN:
                continue
            program, *arguments = shlex.split(line, comments=True)
            assert program == "mirrormask"
            monkeypatch.setattr(sys, "argv", [program, *arguments])
            code = run_safely(app)
            assert code == 0, f"{line}\n{capsys.readouterr().err}"
            ran.append(arguments[0])
    assert ran.count("python") == 2
    assert {"train", "evaluate", "encode", "similarity", "info", "list", "run", "classify"} <= set(ran)
    made = {"my-encoder", "my-second-encoder", "report.html", "vectors.npy", "runs"}
    assert made <= {path.name for path in workplace.iterdir()}
    assert "Spearman on my-pairs.csv" in " ".join(capsys.readouterr().out.split())


def test_it_opens_with_its_two_commands() -> None:
    shown = [line for language, content in blocks() if language == "bash" for line in commands(content)]
    assert shown[:2] == NOT_RUN
    assert all(language in {"bash", "python"} for language, _ in blocks())


def test_every_command_is_named() -> None:
    names = {each.name for each in app.registered_commands} | {each.name for each in app.registered_groups}
    assert names == {name for name in names if name and f"mirrormask {name}" in README}


def test_links_lead_somewhere() -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", README)
    assert len(targets) >= 10
    for target in targets:
        assert (ROOT / target).exists(), target
