"""Where an index in a database is: a libpq address, with `table` beside its own options."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlencode

from mirrormask.core.errors import MirrormaskError

TABLE = "mirrormask"
"""What the tables of an index are named after, where the address does not say."""

_SCHEME = re.compile(r"postgres(?:ql)?://", re.IGNORECASE)
_NAME = re.compile(r"(?:[^\W\d]\w{0,39}\.)?[^\W\d]\w{0,39}")
_SHOWN = ("host", "port", "dbname", "user")


@dataclass(frozen=True)
class Address:
    """A database, and the name of an index in it.

    Args:
        url: for libpq; it may hold a password, so that it is never shown.
        table: what the tables are named after, perhaps after the name of a schema and a dot.
        shown: the same place without a password, as messages, records and results name it.
        secrets: what no message may hold.
    """

    url: str = field(repr=False)
    table: str
    shown: str
    secrets: tuple[str, ...] = field(repr=False, default=())

    def __str__(self) -> str:
        return self.shown

    def without_secrets(self, text: str) -> str:
        """Return a message with every password in it left out."""
        for secret in self.secrets:
            text = text.replace(secret, "…")
        return text


def is_address(place: str | Path) -> bool:
    """Say whether a place is in a database, and no folder.

    Example:
        >>> is_address("postgresql://localhost/notes"), is_address("notes")
        (True, False)
    """
    return isinstance(place, str) and _SCHEME.match(place) is not None


def read_address(url: str) -> Address:
    """Return what a user typed as an address.

    Raises:
        MirrormaskError: it is none, or its password is not written as addresses want it.

    Example:
        >>> read_address("postgresql://me:secret@localhost/notes?table=letters").shown
        'postgresql://me@localhost/notes?table=letters'
    """
    scheme = _SCHEME.match(url)
    if scheme is None:
        raise MirrormaskError("An address begins with postgresql:// and goes on as in postgresql://me@localhost/notes.")
    body, _, query = url[scheme.end() :].partition("?")
    authority, slash, name = body.partition("/")
    login, at, host = authority.rpartition("@")
    if "@" in login + name + query:
        raise MirrormaskError(
            "The address of the database cannot be read: a user or password with one of @ / ? # in it must have these "
            "written as %40 %2F %3F %23. Or leave the password to the variable PGPASSWORD or the file ~/.pgpass."
        )
    user, _, password = login.partition(":")
    options = parse_qsl(query, keep_blank_values=True)
    table = dict(options).get("table", TABLE)
    if not _NAME.fullmatch(table):
        raise MirrormaskError(
            f"The 'table' of a database's address must be a word of at most 40 letters, digits and _, perhaps after a "
            f"schema and a dot. Got {table!r}."
        )
    rest = [(key, value) for key, value in options if key != "table"]
    seen = [(key, value) for key, value in rest if key in _SHOWN]
    seen += [("table", table)] if table != TABLE else []
    secrets = [value for key, value in rest if "password" in key] + [password, unquote(password)]
    place = (user and user + at) + host + slash + name
    return Address(
        url="postgresql://" + body + ("?" + urlencode(rest) if rest else ""),
        table=table,
        shown="postgresql://" + place + ("?" + urlencode(seen, safe="/") if seen else ""),
        secrets=tuple(sorted({each for each in secrets if each}, key=len, reverse=True)),
    )
