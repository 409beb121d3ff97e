"""A small index by a tiny encoder, and the rows it was made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mirrormask.search.index import Index


@pytest.fixture(scope="session")
def rows(sentences: list[str]) -> list[dict[str, Any]]:
    """Documents of one to five sentences, with a year, a language, tags and, in half of them, a price."""
    made = []
    for number in range(60):
        own = [sentence.capitalize() for sentence in sentences[5 * number : 5 * number + 1 + number % 5]]
        row: dict[str, Any] = {"id": f"d{number}", "text": " ".join(own), "year": str(2000 + number % 20)}
        row |= {"lang": "de" if number % 2 else "en", "tags": ["a", "b"] if number % 3 else []}
        made.append({**row, "price": number / 2 if number % 2 else None})
    return made


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], tiny_folder: Path) -> Index:
    """An index for reading only."""
    return Index.build(rows, tmp_path_factory.mktemp("indexes") / "small", model=str(tiny_folder), passage_words=16)
