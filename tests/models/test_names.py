from __future__ import annotations

import os
from pathlib import Path

import pytest

from mirrormask.core.errors import ModelError
from mirrormask.models import names
from mirrormask.models.names import resolve, unreachable


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """Two roots; both hold `shared`, only the second `owner/second`."""
    found = tmp_path / "one", tmp_path / "two"
    for root, inside in ((found[0], "shared"), (found[1], "shared"), (found[1], "owner/second")):
        (root / inside).mkdir(parents=True)
        (root / inside / "config.json").write_text("{}")
    monkeypatch.setenv("MIRRORMASK_MODELS", os.pathsep.join(map(str, found)))
    monkeypatch.chdir(tmp_path)
    return found


def test_the_first_root_wins_and_hub_names_are_folders(roots: tuple[Path, Path]) -> None:
    assert resolve("shared") == str(roots[0] / "shared")
    assert resolve("owner/second") == str(roots[1] / "owner" / "second")


def test_a_folder_wins_over_a_root(roots: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "config.json").write_text("{}")
    assert resolve("shared") == "shared"
    assert resolve(tmp_path / "shared") == str(tmp_path / "shared")


def test_what_is_shipped_wins_over_all(
    roots: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(names, "SHIPPED", roots[1])
    assert resolve("shared") == str(roots[1] / "shared")


def test_a_run_folder_is_its_model(tmp_path: Path) -> None:
    (tmp_path / "run" / "model").mkdir(parents=True)
    (tmp_path / "run" / "model" / "modules.json").write_text("[]")
    assert resolve(tmp_path / "run") == str(tmp_path / "run" / "model")


def test_other_names_are_left_to_the_hub(roots: tuple[Path, Path]) -> None:
    assert resolve("owner/name") == "owner/name"
    assert resolve("bert-base-uncased") == "bert-base-uncased"


def test_what_cannot_be_a_model(roots: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.bin").touch()
    for name, says in {
        "empty": "is no model: it has neither config.json nor modules.json",
        "file.bin": "is a file, and a model is a folder",
        "./gone": "There is no model folder ./gone",
        "a/b/c": "There is no model folder a/b/c",
    }.items():
        with pytest.raises(ModelError, match=says):
            resolve(name)


def test_an_unreachable_name_offers_the_nearest_local_one(roots: tuple[Path, Path]) -> None:
    said = str(unreachable("shred", OSError("no route\nmore")))
    assert "(no route)" in said
    assert said.endswith("Did you mean 'shared'?")


@pytest.mark.parametrize(("typed", "meant"), [("mini-sentense", "mini-sentence"), ("my-encodr", "my-encoder")])
def test_an_unreachable_name_offers_what_is_shipped_and_what_lies_here(
    roots: tuple[Path, Path], tmp_path: Path, typed: str, meant: str
) -> None:
    (tmp_path / "my-encoder" / "model").mkdir(parents=True)
    (tmp_path / "my-encoder" / "model" / "modules.json").write_text("[]")
    (tmp_path / "my-encodr-notes").mkdir()  # nearer, and no model
    assert str(unreachable(typed, OSError("no route"))).endswith(f"Did you mean {meant!r}?")


def test_a_long_reason_ends_with_a_sentence_or_a_word(roots: tuple[Path, Path]) -> None:
    assert "(It is off)." in str(unreachable("far", OSError("It is off. To turn it on, read a long page.")))
    assert "word …)." in str(unreachable("far", OSError("word " * 100)))
