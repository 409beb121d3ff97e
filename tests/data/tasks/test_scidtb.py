"""Discourse trees of SciDTB, and what is wrong with a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.scidtb import UNANNOTATED, read_scidtb


def unit(identity: int, parent: int, text: str = "some words", relation: str = "elab") -> dict[str, Any]:
    return {"id": identity, "parent": parent, "text": text, "relation": relation}


GOOD = [unit(0, -1, "ROOT"), unit(1, 2, "When it rains , "), unit(2, 0, "we stay . <S>"), unit(3, -1), unit(4, 2)]


def write(path: Path, rows: Any, *, bom: bool = True) -> Path:
    text = rows if isinstance(rows, str) else json.dumps({"root": rows})
    path.write_text(text, encoding="utf-8-sig" if bom else "utf-8")
    return path


def test_a_document(tmp_path: Path) -> None:
    for bom in (True, False):
        (found,) = read_scidtb(write(tmp_path / "one.dep", GOOD, bom=bom))
        assert found.units == ("When it rains ,", "we stay .", "some words", "some words")
        assert found.heads.tolist() == [1, -1, UNANNOTATED, 1]
        assert len(found) == 4 and found.name == "one.dep"


def test_a_folder_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "b.edu.txt.dep", GOOD)
    write(tmp_path / "a.json", GOOD)
    (tmp_path / "notes.txt").write_text("not one")
    assert [found.name for found in read_scidtb(tmp_path)] == ["a.json", "b.edu.txt.dep"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no .dep or .json file"):
        list(read_scidtb(tmp_path / "empty"))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ("{", "line 1: this is no JSON"),
        ("[]", "must hold a list 'root'"),
        ([unit(0, -1)], "at least one unit"),
        ([unit(0, -1), unit(2, 0)], "unit 1: units are numbered 0, 1, 2 … in order. Got id 2."),
        ([unit(0, -1), unit(1, 9)], "unit 1: the parent must be a unit from 0 to 1. Got 9."),
        ([unit(0, -1), unit(1, 2), unit(2, 1)], "unit 1: the heads of units 1 → 2 → 1 form a cycle"),
        ([unit(0, -1), {"id": 1}], "unit 1: a unit has 'id', 'parent' and 'text'"),
        ([unit(0, -1), unit(1, 0, " <S> ")], "unit 1: the text is empty"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, rows: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        list(read_scidtb(write(tmp_path / "bad.dep", rows)))


@pytest.mark.shared
@pytest.mark.parametrize(("split", "count"), [("train", 743), ("dev/gold", 154), ("test/gold", 152)])
def test_the_real_files(shared_data: Path, split: str, count: int) -> None:
    assert sum(1 for _ in read_scidtb(shared_data / "scidtb" / split)) == count


@pytest.mark.parametrize("content", ["[" * 99_999, "9" * 6_000])
def test_json_that_python_cannot_hold(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(DataError, match="nested too deeply"):
        list(read_scidtb(tmp_path / "x.json"))
