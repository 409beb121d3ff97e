"""A folder that only one process writes at a time: a second one is told who holds it.

The lock is the kernel's, so it goes with its owner: one that was killed holds nothing, and no other process that has
been given its number is mistaken for it. The file says in words who the owner is.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import shlex
import socket
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError

LOCK = ".lock"

_held: dict[Path, tuple[int, int]] = {}  # by folder: the thread that holds it, and the open file


@contextlib.contextmanager
def locked(folder: Path | str) -> Iterator[None]:
    """Hold a folder inside the block; the thread that holds it may enter again.

    Args:
        folder: that must be there.

    Raises:
        MirrormaskError: another process, or another thread of this one, holds it.
    """
    folder = Path(folder).resolve()
    if folder in _held and _held[folder][0] == threading.get_ident():
        yield
        return
    file = _taken(folder)
    if file is None:  # a file system that knows no locks
        yield
        return
    _held[folder] = (threading.get_ident(), file)
    try:
        yield
    finally:
        del _held[folder]
        (folder / LOCK).unlink(missing_ok=True)  # while it is held: whoever opened it before looks again
        os.close(file)


def _taken(folder: Path) -> int | None:
    """Return the open lock file, written anew; None where the file system knows no locks."""
    path = folder / LOCK
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            owner = os.read(file, 1 << 16)
            os.close(file)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise _refusal(folder, owner) from None
            return None
        if _is_still(path, file):
            os.ftruncate(file, 0)
            os.pwrite(file, json.dumps(_owner()).encode("utf-8", "replace"), 0)
            return file
        os.close(file)  # its owner removed it between the two calls


def _is_still(path: Path, file: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file))
    except FileNotFoundError:
        return False


def _owner() -> dict[str, Any]:
    name = Path(sys.argv[0]).name
    command = ["mirrormask" if name in ("-c", "-m", "__main__.py") else name, *sys.argv[1:]]
    since = time.strftime("%Y-%m-%d %H:%M:%S")
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": since, "command": shlex.join(command)[:500]}


def _refusal(folder: Path, owner: bytes) -> MirrormaskError:
    who = "Another process"
    with contextlib.suppress(ValueError, KeyError, TypeError):
        known = json.loads(owner)
        who = f"Process {known['pid']} on {known['host']}, since {known['since']} ({known['command']}),"
    return MirrormaskError(f"{folder} is in use. {who} is writing there. Wait for it, stop it, or give another --out.")


def _forget() -> None:
    """Close, in a process that was forked from this one, what its parent holds."""
    for _, file in _held.values():
        os.close(file)
    _held.clear()


os.register_at_fork(after_in_child=_forget)
