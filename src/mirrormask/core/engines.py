"""Where much work is done: in this process, or by workers of Ray. Whoever has work cuts it the same way for both.

Pieces are read into shards, each shard is worked on alone, and what becomes of it comes back, in any order. A worker
may be killed and a shard worked on twice: so a shard is written under a name that says what it holds, whole or not at
all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

Read = Callable[[Any], Iterator[Any]]
"""Reads a piece into shards; each has a `name`, by which it is known, and a `place`, by which a user knows it."""

Make = Callable[[], Callable[[Any], Any]]
"""Makes what works on a shard; called once in every process that works."""


class Engine(Protocol):
    """Does the work; entered before and left after it."""

    remote: bool
    """Whether it is done by other processes, perhaps on other machines."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *_: object) -> None: ...

    def run(self, pieces: Sequence[Any], read: Read, make: Make, folder: Path) -> Iterator[Any]:
        """Yield what became of every shard of the pieces.

        Args:
            pieces: what to read; like everything here they may travel to another machine.
            read: a piece to shards.
            make: what works on a shard.
            folder: that every worker sees, for notes of what was begun.
        """
        ...


class PlainEngine:
    """Works on one shard after another, in this process."""

    remote = False

    def __enter__(self) -> PlainEngine:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def run(self, pieces: Sequence[Any], read: Read, make: Make, folder: Path) -> Iterator[Any]:
        """Yield what became of every shard, in order."""
        work = make()
        for piece in pieces:
            for shard in read(piece):
                yield work(shard)
