"""Every verb that writes refuses an output that it reads, and what it reads stays as it was."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Cli = Callable[..., Any]

RECIPE = '[model]\nname = "{model}"\n[data]\ncorpus = ["{corpus}"]\n[training]\nsteps = 2\nbatch_size = 8\n'
STUDY = 'title = "A study"\nbaseline = "plain"\nrecipes = "recipes"\n'


@pytest.fixture
def there(tmp_path: Path, tiny_folder: Path, corpus_file: Path, pairs_file: Path) -> Path:
    """A folder of everything a command may read, with links to it."""
    shutil.copytree(tiny_folder, tmp_path / "tiny")
    for place in ("corpus.txt", "corpus.npy", "work/corpus.txt", "runs/deep/seed-1/work/corpus.txt"):
        (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(corpus_file, tmp_path / place)
    shutil.copy(pairs_file, tmp_path / "pairs.csv")
    (tmp_path / "link.npy").symlink_to(tmp_path / "corpus.npy")
    (tmp_path / "page.html").hardlink_to(tmp_path / "pairs.csv")
    (tmp_path / "model").symlink_to(tmp_path / "tiny")
    (tmp_path / "picture.svg").write_text("the old baker paints boats\n")
    (tmp_path / "tiny" / "picture.svg").write_text("a picture of the model")
    (tmp_path / "one.toml").write_text(RECIPE.format(model="tiny", corpus="work/corpus.txt"))
    (tmp_path / "work" / "two.toml").write_text(RECIPE.format(model="tiny", corpus="corpus.txt"))
    (tmp_path / "deep.toml").write_text(RECIPE.format(model="tiny", corpus="runs/deep/seed-1/work/corpus.txt"))
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "study").mkdir()
    return tmp_path


def contents(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", "corpus.txt", "--model", "tiny", "--out", "tiny"],
        ["train", "corpus.txt", "--model", "model", "--out", "tiny"],
        ["train", "corpus.txt", "--model", "model", "--out", "."],
        ["train", "work/corpus.txt", "--model", "tiny", "--out", "."],
        ["train", "corpus.txt", "--model", "tiny", "--out", ".", "--dev", "work/corpus.txt"],
        ["pretrain", "work/corpus.txt", "--out", "."],
        ["pretrain", "corpus.txt", "work/corpus.txt", "--out", "."],
        ["pretrain", "corpus.txt", "--init", "tiny", "--out", "tiny"],
        ["pretrain", "corpus.txt", "--tokenizer", "tiny", "--out", "model"],
        ["pretrain", "corpus.txt", "--center", "work/corpus.txt", "--out", "."],
        ["run", "one.toml", "--out", "."],
        ["run", "work/two.toml", "--out", "."],
        ["run", "one.toml", "--out", "tiny"],
        ["run", "deep.toml", "--seeds", "1", "--out", "runs"],
        ["encode", "corpus.npy", "--model", "tiny", "--out", "corpus.npy"],
        ["encode", "corpus.npy", "--model", "tiny", "--out", "link.npy"],
        ["encode", "link.npy", "--model", "tiny", "--out", "work/../corpus.npy"],
        ["evaluate", "tiny", "--data", "pairs.csv", "--report", "pairs.csv"],
        ["evaluate", "tiny", "--data", "pairs.csv", "--report", "page.html"],
        ["evaluate", "tiny", "--data", "pairs.csv", "--report", "model/config.json"],
        ["compare", "runs", "--figures", "runs"],
        ["study", "study.toml", "study"],
        ["probe", "the old baker", "--model", "tiny", "--out", "tiny/picture.svg"],
        ["probe", "segment", "corpus.txt", "--model", "tiny", "--out", "corpus.txt"],
        ["probe", "segment", "corpus.txt", "--gold", "work/corpus.txt", "--model", "tiny", "--out", "work/corpus.txt"],
        ["probe", "segment", "corpus.txt", "--model", "tiny", "--store", "model"],
        ["quickstart", "--model", "tiny", "--out", "model"],
    ],
    ids=" ".join,
)
def test_an_output_that_is_an_input(
    cli: Cli, there: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(there)
    before = contents(there)
    ran = cli(*arguments)
    assert ran.code == 2, ran
    assert "would write over" in ran.err and "Give another path." in ran.err
    assert contents(there) == before
