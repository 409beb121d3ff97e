"""The keys of those who may ask."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable
from pathlib import Path

from mirrormask.core.errors import DataError

VARIABLE = "MIRRORMASK_API_KEYS"
"""Holds keys, with commas or white space between them."""

_SHORTEST = 8


class Keys:
    """Keys, kept as digests; every one is compared, each in constant time, so that a wrong one tells nothing.

    Args:
        keys: none: everyone may ask.
    """

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self._digests = [_digest(key.encode()) for key in keys]

    def __bool__(self) -> bool:
        return bool(self._digests)

    def know(self, given: bytes) -> bool:
        """Say whether a key is one of them."""
        own = _digest(given)
        return sum([hmac.compare_digest(own, each) for each in self._digests]) > 0


def read_keys(file: Path | None) -> Keys:
    """Return the keys of a file, one a line, and of the environment.

    Raises:
        DataError: the file cannot be read or holds none, or a key is too short or holds signs no header can.
    """
    found = os.environ.get(VARIABLE, "").replace(",", " ").split()
    where = f"the environment ({VARIABLE})"
    if file is not None:
        where = str(file)
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise DataError(f"The keys in {file} cannot be read ({error}). Give a text file, one key a line.") from None
        own = [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]
        if not own:
            raise DataError(f"{file} holds no key. Write one a line, or leave out --keys.")
        found += own
    for key in found:
        if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
            raise DataError(
                f"A key in {where} has fewer than {_SHORTEST} signs, or signs other than ASCII without spaces. "
                'Make one with: python -c "import secrets; print(secrets.token_urlsafe())"'
            )
    return Keys(found)


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
