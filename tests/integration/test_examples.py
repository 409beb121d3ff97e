"""Every example runs as a script, offline, on a tiny model, and says what it promises."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"

SAID = {
    "train_on_texts": ["Kept step", "Who lost the violin?"],
    "compare_encoders": ["spearman_percent", "second"],
    "encode_file": ["5 vectors of 32 numbers", "row 4: nearest is row"],
    "read_masks": ["The old [MASK] crossed the river.", "layer -1: (", "mean log-likelihood"],
    "compose_a_method": ["3 steps in", "'InputNoise'"],
    "classify_texts": ["learned by contrast", "a lovely evening: "],
    "label_by_cloze": ["in the storm.  without training: ", "; after four examples: "],
}
WORDS = ("red", "gray", "old", "long", "tall")
OPTIONS = {
    "label_by_cloze": ["--steps", "3"],
    "classify_texts": ["--steps", "3"],
    "train_on_texts": ["--steps", "3"],
    "compose_a_method": ["--steps", "3"],
}


def run(
    name: str,
    *arguments: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """Run an example as `python examples/NAME.py …` would, in this process, and return what it printed."""
    script = str(FOLDER / f"{name}.py")
    monkeypatch.setattr(sys, "argv", [script, *arguments])
    runpy.run_path(script, run_name="__main__")
    return capsys.readouterr().out


def test_every_example_is_listed() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SAID)


@pytest.mark.parametrize("name", SAID)
def test_example(
    name: str,
    tiny_folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    said = run(name, "--model", str(tiny_folder), *OPTIONS.get(name, []), monkeypatch=monkeypatch, capsys=capsys)
    for part in SAID[name]:
        assert part in said
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind unless it is told where"


def test_compare_takes_files(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data, page = tmp_path / "pairs.tsv", tmp_path / "report.html"
    rows = [f"the {word} cat\tthe old boat\t{score}" for score, word in enumerate([*WORDS, *WORDS])]
    data.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]) + "\n", encoding="utf-8")
    tiny = str(tiny_folder)
    options = ["--model", tiny, "--other", tiny, "--data", str(data), "--report", str(page)]
    said = run("compare_encoders", *options, monkeypatch=monkeypatch, capsys=capsys)
    assert "There is no evidence that second and first differ" in said
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("name", SAID)
def test_example_is_short_and_shows_its_command(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert 40 <= len(text.splitlines()) <= 80
    assert f"\npython examples/{name}.py --model mini" in text
