"""Judgements about aspects, and what is wrong with a row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.absa import load_absa, parse_row

ROW: dict[str, Any] = {"text": "I like the $T$ , not the noise .", "aspect": "blue screen", "polarity": 1}


def test_the_term_takes_its_place() -> None:
    found = parse_row(ROW, "row 1")
    assert found.words == ("I", "like", "the", "blue", "screen", ",", "not", "the", "noise", ".")
    assert found.words[found.start : found.stop] == ("blue", "screen") and found.polarity == 1
    assert parse_row({**ROW, "text": "$T$"}, "row 1").words == ("blue", "screen")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": "no term here"}, "'text' must hold \\$T\\$ once, where the aspect stands. Got 'no term here'."),
        ({"text": "$T$ and $T$"}, "must hold \\$T\\$ once"),
        ({"text": None}, "must hold"),
        ({"aspect": " "}, "'aspect' must be a text that is not empty"),
        ({"polarity": 2}, "'polarity' must be -1, 0 or 1. Got 2."),
        ({"polarity": "1"}, "Got '1'."),
        ({"polarity": True}, "Got True."),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=f"file, row 3: .*{says}|{says}"):
        parse_row({**ROW, **change}, "file, row 3")


def test_rows_come_from_a_local_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "absa" / "laptop"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text('{"text": "a $T$ b", "aspect": "x", "polarity": 0}\n{"text": "a"}\n')
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    with pytest.raises(DataError, match="test.jsonl, row 2: 'text' must hold"):
        load_absa("laptop", "test")


@pytest.mark.shared
@pytest.mark.parametrize(("name", "split", "count"), [("laptop", "train", 2328), ("restaurant", "test", 1120)])
def test_the_real_files(shared_data: Path, name: str, split: str, count: int) -> None:
    assert len(load_absa(name, split)) == count
