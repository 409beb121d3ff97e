"""Connections to a database, and its errors in one sentence each."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

from mirrormask.core.errors import DataError, MirrormaskError, MissingExtra, Unreachable
from mirrormask.search.postgres.address import Address

PGVECTOR = (0, 8)
"""The first version of pgvector that goes on searching where a condition leaves too few."""

_WAIT = 10  # seconds for a server that does not answer


def psycopg() -> Any:
    """Return the driver.

    Raises:
        MissingExtra: it is not installed.
    """
    try:
        import pgvector.psycopg  # noqa: F401
        import psycopg
    except ImportError as error:
        raise MissingExtra("pgvector" if error.name == "pgvector" else "psycopg", "postgres", "PostgreSQL") from error
    return psycopg


@contextlib.contextmanager
def speaking(address: Address) -> Iterator[None]:
    """Turn what the database or the driver complains about into one sentence, without a password."""
    driver = psycopg()
    try:
        yield
    except driver.Error as error:
        lost = isinstance(error, (driver.OperationalError, driver.InterfaceError))
        kind = Unreachable if lost else DataError
        raise kind(address.without_secrets(_sentence(address, error))) from None


def connect(address: Address) -> Any:
    """Return a new connection, in which every statement is a transaction unless it is told otherwise.

    Raises:
        Unreachable: the database cannot be reached.
    """
    driver = psycopg()
    try:
        return driver.connect(
            address.url,
            autocommit=True,
            connect_timeout=_WAIT,
            application_name="mirrormask",
            client_encoding="utf8",
            prepare_threshold=None,  # a plan that is kept knows neither how many are wanted nor how to search
        )
    except driver.Error as error:
        why = address.without_secrets(_first_line(error))
        raise Unreachable(f"The database {address} cannot be reached ({why}). {_way_out(why)}") from None


def check_pgvector(connection: Any, address: Address, *, create: bool = False) -> None:
    """Say whether the database has pgvector; where it may be created, it is.

    Raises:
        DataError: it has none, or an old one.
    """
    driver = psycopg()
    row = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    if row is None:
        there = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'vector'").fetchone()
        if there is None:
            raise DataError(
                f"The server of {address} has no pgvector. Install it there (https://github.com/pgvector/pgvector; on "
                "Debian: apt install postgresql-16-pgvector), and repeat the command."
            )
        if not create:
            raise DataError(f"The database {address} has no pgvector, so it holds no index. Make one with --to.")
        try:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        except driver.errors.InsufficientPrivilege:
            raise DataError(
                f"The database {address} has no pgvector, and this user may not add it. Let its owner run: "
                "CREATE EXTENSION vector"
            ) from None
        return check_pgvector(connection, address)
    version = tuple(int(part) for part in row[0].split(".")[:2])
    if version < PGVECTOR:
        raise DataError(
            f"The database {address} has pgvector {row[0]}, and 0.8 or newer is needed. Install it on the server and "
            "run: ALTER EXTENSION vector UPDATE"
        )
    return None


class Connections:
    """As many connections as are searched with at a time; an idle one that was lost is replaced.

    They are closed with this object, or by `close`.

    Args:
        address: of the database.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self._idle: list[Any] = []
        self._lock = threading.Lock()
        self.close = weakref.finalize(self, _close_all, self._idle)

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[Any]:
        """Hold a cursor that sees the database as it is at one moment."""
        from pgvector.psycopg import register_vector

        driver = psycopg()
        connection = self._taken()
        begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        try:
            if connection is not None:
                connection.execute(begin)
        except driver.Error:
            connection.close()
            connection = None
        try:
            with speaking(self.address):
                if connection is None:
                    connection = connect(self.address)
                    check_pgvector(connection, self.address)
                    register_vector(connection)
                    connection.execute(begin)
                with connection.cursor(binary=True) as cursor:
                    yield cursor
                connection.execute("COMMIT")
        except BaseException:
            if connection is not None:
                connection.close()
            raise
        with self._lock:
            self._idle.append(connection)

    def _taken(self) -> Any:
        with self._lock:
            return self._idle.pop() if self._idle else None


def _close_all(connections: list[Any]) -> None:
    while connections:
        connections.pop().close()


def _sentence(address: Address, error: Any) -> str:
    errors = psycopg().errors
    why = _first_line(error)
    if isinstance(error, (errors.UndefinedTable, errors.UndefinedColumn)):
        return f"The index {address} is damaged or was removed meanwhile ({why}). Make it again with --anew."
    if isinstance(error, errors.InsufficientPrivilege):
        return f"The database {address} does not allow this ({why}). Ask its owner, or name another user."
    if isinstance(error, errors.DiskFull):
        return f"The server of {address} has no room left ({why}). Free some and repeat the command: it goes on."
    if isinstance(error, errors.QueryCanceled):
        return f"The database {address} stopped this ({why}). Give it more time, or repeat the command."
    if isinstance(error, (psycopg().OperationalError, psycopg().InterfaceError)):
        return (
            f"The connection to {address} was lost ({why}). What was written before is whole: repeat the command, and "
            "it goes on."
        )
    return f"The database {address} cannot do this: {why}."


def _first_line(error: Any) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:300]


def _way_out(why: str) -> str:
    if "password" in why or "authentication" in why:
        return "Give user and password in the address, or the password in the variable PGPASSWORD or in ~/.pgpass."
    if "does not exist" in why:
        return "Create it, or name one that is there."
    return "Start the server, or check host and port."


def refused(address: Address) -> MirrormaskError:
    """Return the sentence for an index that another writer holds."""
    return MirrormaskError(f"{address} is in use: another process is writing there. Wait for it, or stop it.")
