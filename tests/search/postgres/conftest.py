"""Tables of the test process's own database."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.search.postgres.postgres_index import PostgresIndex


@pytest.fixture
def sql(database: str) -> Callable[..., list[Any]]:
    """Return a function that runs SQL in this process's own database."""
    import psycopg

    def run(statement: str, values: Any = None) -> list[Any]:
        with psycopg.connect(database, autocommit=True) as connection:
            cursor = connection.execute(statement, values)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture(scope="session")
def address(database: str) -> Callable[[], str]:
    """Return a function that gives a new table's address."""
    numbers = itertools.count()
    return lambda: f"{database}&table=t{next(numbers)}"


@pytest.fixture(scope="session")
def stored(address: Callable[[], str], rows: list[dict[str, Any]], tiny_folder: Path) -> PostgresIndex:
    """The rows of `small` in a database, for reading only."""
    return PostgresIndex.build(rows, address(), model=str(tiny_folder), passage_words=16)
