from __future__ import annotations

import json
from pathlib import Path

import pytest

from mirrormask.core.errors import DataError
from mirrormask.data.text.lexicon_words import read_opposites, read_synonyms


def test_json_lines_have_antonyms(tmp_path: Path) -> None:
    rows = [
        {"words": ["Calm", "quiet", "at_ease"], "antonyms": ["loud", ["quiet", "noisy"]]},
        {"words": ["alone"], "antonyms": []},
    ]
    (tmp_path / "words.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    same, against = read_opposites(tmp_path / "words.jsonl")
    assert same == {"calm": ["quiet", "at ease"], "quiet": ["calm", "at ease"]}
    assert against == {"calm": ["loud"], "loud": ["calm"], "quiet": ["noisy"], "noisy": ["quiet"]}


def test_lines_of_words_have_none(tmp_path: Path) -> None:
    (tmp_path / "words.csv").write_text("calm,quiet,still\n", encoding="utf-8")
    assert read_opposites(tmp_path / "words.csv") == (read_synonyms(tmp_path / "words.csv"), {})


def test_wordnets_own_files_are_read(tmp_path: Path) -> None:
    lines = [
        "  1 This is where the licence stands.",
        "00000010 00 a 02 calm 0 at_ease 0 001 ! 00000020 a 0101 | without waves",
        "00000020 00 a 02 rough(a) 0 wild 1 002 ! 00000010 a 0101 & 00000010 a 0000 | with waves",
    ]
    (tmp_path / "data.adj").write_text("\n".join(lines) + "\n", encoding="utf-8")
    same, against = read_opposites(tmp_path)
    assert same == {"calm": ["at ease"], "rough": ["wild"], "wild": ["rough"]}
    assert against == {"calm": ["rough"], "rough": ["calm"]}
    (tmp_path / "data.adj").write_text("a word and another\n", encoding="utf-8")
    with pytest.raises(DataError, match="is no data file of WordNet: 'a word and another'"):
        read_opposites(tmp_path)


def test_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="names no synonyms. Give JSON lines"):
        read_opposites(tmp_path / "folder")
