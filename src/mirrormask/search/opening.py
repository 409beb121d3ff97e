"""What a user names as an index: a folder, or an address in a database."""

from __future__ import annotations

from pathlib import Path

from mirrormask.search import generations
from mirrormask.search.postgres.address import is_address, read_address
from mirrormask.search.searching import SearchIndex


def is_index(place: str | Path) -> bool:
    """Say whether a place is meant as an index: a folder that holds one, or an address."""
    return is_address(place) or generations.is_index(Path(place))


def open_index(place: str | Path, *, model: str | None = None) -> SearchIndex:
    """Open an index for reading, wherever it is.

    Args:
        place: the folder of an index, or an address such as `postgresql://me@localhost/notes?table=letters`.
        model: the encoder, where it is not where it was when the index was made.

    Raises:
        DataError: there is no index.
    """
    if is_address(place):
        from mirrormask.search.postgres.postgres_index import PostgresIndex

        return PostgresIndex(str(place), model=model)
    from mirrormask.search.index import Index

    return Index.open(place, model=model)


def shown(place: str | Path) -> str:
    """Return a place as messages and results name it: without a password.

    Example:
        >>> shown("postgresql://me:secret@localhost/notes"), shown("my-index")
        ('postgresql://me@localhost/notes', 'my-index')
    """
    return read_address(str(place)).shown if is_address(place) else str(place)
