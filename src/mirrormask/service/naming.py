"""Addresses and names: under which the service may be called, who may call it from a browser, what is served."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Sequence
from pathlib import Path

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.search.generations import MANIFEST, is_index, read_manifest
from mirrormask.search.postgres.address import is_address, read_address
from mirrormask.search.postgres.connecting import connect

_ORIGIN = re.compile(r"https?://[^/\s*]+")


def check_arguments(arguments: Sequence[str]) -> None:
    """Say at once, before anything slow is imported, what is plainly neither an index nor a model.

    Raises:
        DataError: a folder is neither, an index is damaged, or a database cannot be reached.
    """
    for argument in arguments:
        folder = Path(argument).expanduser()
        if is_address(argument):
            connect(read_address(argument)).close()
        elif is_index(folder):
            read_manifest(folder)
        elif folder.is_dir() and not any((folder / name).is_file() for name in _MODELS):
            raise DataError(
                f"{argument} is neither an index ({MANIFEST}) nor a model (config.json). Give a folder that "
                "`mirrormask index` or a training run wrote, or a model's name."
            )


_MODELS = ("config.json", "modules.json", "adapter_config.json", "model/config.json", "model/modules.json")


def check_origins(origins: Sequence[str]) -> None:
    """Raise a MirrormaskError where an origin is none: browsers compare it letter for letter."""
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise MirrormaskError(
                f"--cors takes the origin of a web page, such as https://example.org, without a path. Got {origin!r}."
            )


def allowed_hosts(host: str, named: Sequence[str]) -> frozenset[str] | None:
    """Return the names under which the service may be called; None: any.

    One that listens on this machine alone answers to its loopback names only: a web page could otherwise lead a
    browser here under a name of its own, and read the answers.

    Args:
        host: where it listens.
        named: names that are allowed besides.

    Example:
        >>> sorted(allowed_hosts("127.0.0.1", ["search.example.org"]))
        ['127.0.0.1', '::1', 'localhost', 'search.example.org']
        >>> allowed_hosts("0.0.0.0", [])
    """
    if not is_loopback(host) and not named:
        return None
    return frozenset({"localhost", "127.0.0.1", "::1", host.lower(), *(name.lower() for name in named)})


def is_loopback(host: str) -> bool:
    """Say whether an address leads to this machine alone."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
