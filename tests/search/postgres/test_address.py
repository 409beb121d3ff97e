from __future__ import annotations

from pathlib import Path

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.search.opening import is_index, shown
from mirrormask.search.postgres.address import is_address, read_address


def test_a_password_is_for_the_driver_alone() -> None:
    for url in (
        "postgresql://me:s3cr%40t@host:5433/notes?table=letters&sslmode=require",
        "postgresql://me@host:5433/notes?password=s3cr%40t&table=letters&sslmode=require",
        "postgres://me:s3cr%40t@host:5433/notes?sslpassword=other&sslmode=require&table=letters",
    ):
        found = read_address(url)
        assert found.shown == shown(url) == str(found) == "postgresql://me@host:5433/notes?table=letters"
        assert "s3cr" in found.url and "table" not in found.url and "sslmode=require" in found.url
        assert "s3cr" not in repr(found)
        assert found.without_secrets("no entry for s3cr@t") == "no entry for …"


def test_sockets_and_defaults() -> None:
    assert read_address("postgresql:///notes?host=/run/pg").shown == "postgresql:///notes?host=/run/pg"
    assert read_address("postgresql://").table == "mirrormask"
    assert read_address("postgresql://h/n?table=own.letters").table == "own.letters"


@pytest.mark.parametrize("password", ["a@b", "a/b@c", "a?b"])
def test_a_password_that_breaks_the_address_is_not_shown(password: str) -> None:
    with pytest.raises(MirrormaskError, match="written as %40 %2F %3F %23") as caught:
        read_address(f"postgresql://me:{password}@host/notes")
    assert password not in str(caught.value)


@pytest.mark.parametrize("table", ["a b", "1a", 'a"; drop', "a.b.c", "x" * 41, ""])
def test_tables_have_plain_names(table: str) -> None:
    with pytest.raises(MirrormaskError, match="The 'table' of a database's address must be a word"):
        read_address(f"postgresql://h/n?table={table}")


def test_what_is_an_address() -> None:
    assert is_address("POSTGRESQL://h/n") and is_address("postgres://h")
    assert not is_address("postgresql") and not is_address(Path("postgresql:/h"))
    assert is_index("postgresql://h/n") and not is_index("nowhere")
    with pytest.raises(MirrormaskError, match="An address begins with postgresql://"):
        read_address("mysql://h")
