"""Texts with a class each, told by one word, and their files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from mirrormask.data.tasks.classified import Classified

WORDS = {"boat": "water", "clock": "time", "apples": "food"}


@pytest.fixture(scope="session")
def labelled(sentences: list[str]) -> Classified:
    """Sentences of three classes: what is painted, repaired or forgotten tells which."""
    rows = [(text, label) for text in sentences for word, label in WORDS.items() if word in text]
    return Classified("the test", tuple(text for text, _ in rows), tuple((label,) for _, label in rows))


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, list[dict[str, object]]], Path]:
    """Return a function that writes rows as JSON lines."""

    def save(name: str, rows: list[dict[str, object]]) -> Path:
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return save
