"""A shard that kills every worker ends the work: each worker notes what it begins, and takes the note away at the end.

A note is a file that grows by one byte with every worker that begins, in a folder that all of them see.
"""

from __future__ import annotations

from pathlib import Path

from mirrormask.core.errors import WorkerError

TRIES = 3
"""Workers that a shard may cost."""

_NOTE = ".tries"


def begin_shard(folder: Path, name: str, place: str) -> Path:
    """Note that a worker begins with a shard, and return the note.

    Args:
        folder: for notes.
        name: of the shard.
        place: the same in words.

    Raises:
        WorkerError: it has cost several workers.
    """
    note = folder / f".{name}{_NOTE}"
    with note.open("ab") as stream:
        if stream.tell() >= TRIES:
            raise WorkerError(
                f"A worker died {TRIES} times at {place}, as it does where memory runs out. What was done is kept: "
                "give fewer --workers, or machines with more memory, and go on."
            )
        stream.write(b".")
    return note


def forget_tries(folder: Path) -> None:
    """Remove all notes."""
    for note in folder.glob(f".*{_NOTE}"):
        note.unlink(missing_ok=True)
