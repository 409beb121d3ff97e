"""A small index and what answers from it, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from mirrormask.search.index import Index
from mirrormask.service.answering import Service
from mirrormask.service.app import make_app
from mirrormask.service.served import open_all


@pytest.fixture(scope="session")
def notes(sentences: list[str]) -> list[dict[str, Any]]:
    """Forty documents of one or two sentences, with a year, a language and tags."""
    made = []
    for number in range(40):
        text = " ".join(sentences[2 * number : 2 * number + 1 + number % 2])
        row = {"id": f"d{number}", "text": text, "year": 2000 + number % 4, "lang": "de" if number % 2 else "en"}
        made.append({**row, "tags": ["red", 'so "called" \\'] if number % 3 else []})
    return made


@pytest.fixture(scope="session")
def notes_index(made_once: Callable[..., Path], notes: list[dict[str, Any]], tiny_folder: Path) -> Path:
    return made_once("notes-index", lambda out: Index.build(notes, out, model=str(tiny_folder)))


@pytest.fixture(scope="session")
def half_index(made_once: Callable[..., Path], notes: list[dict[str, Any]], tiny_folder: Path) -> Path:
    return made_once("half-index", lambda out: Index.build(notes[:20], out, model=str(tiny_folder)))


@pytest.fixture(scope="module")
def service(notes_index: Path, half_index: Path, tiny_folder: Path) -> Iterator[Service]:
    made = Service(open_all([str(notes_index), str(half_index), str(tiny_folder)]))
    yield made
    made.close()


@pytest.fixture(scope="module")
def client(service: Service) -> Iterator[TestClient]:
    with TestClient(make_app(service)) as made:
        yield made
