"""What Ray runs in its own processes: a source that reads pieces, and the worker that every shard goes through.

An error that a user can mend travels back as a shard does, so that it is said as it is without Ray.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from ray.data.block import BlockMetadata
from ray.data.datasource import Datasource, ReadTask

from mirrormask.core.engines import Make, Read
from mirrormask.core.errors import MirrormaskError, WorkerError
from mirrormask.core.tries import begin_shard


class Pieces(Datasource):
    """Reads each piece in a task of its own, shard by shard.

    Args:
        pieces: what to read.
        read: a piece to shards.
    """

    def __init__(self, pieces: Sequence[Any], read: Read) -> None:
        self._pieces, self._read = pieces, read

    def estimate_inmemory_data_size(self) -> int | None:
        """Return None: nobody knows before it is read."""
        return None

    def get_read_tasks(self, parallelism: int, *_: Any, **__: Any) -> list[ReadTask]:
        """Return a task for each piece."""
        unknown = BlockMetadata(num_rows=None, size_bytes=None, input_files=None, exec_stats=None)
        return [ReadTask(_Reading(self._read, piece), unknown) for piece in self._pieces]


class _Reading:
    def __init__(self, read: Read, piece: Any) -> None:
        self._read, self._piece = read, piece

    def __call__(self) -> Iterator[pa.Table]:
        try:
            for shard in self._read(self._piece):
                yield _packed(None, shard)
        except MirrormaskError as error:
            yield _packed(type(error), str(error))


class Worker:
    """Works on one shard after another in an actor.

    Args:
        make: what works on a shard.
        folder: for notes of what was begun.
    """

    def __init__(self, make: Make, folder: Path) -> None:
        self._make, self._folder = make, folder
        self._work: Any = None

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Return what became of a shard, or what was wrong."""
        kind, content = pickle.loads(batch["item"][0].as_py())
        if kind is not None:
            return batch
        try:
            note = begin_shard(self._folder, content.name, content.place)
            if self._work is None:
                self._work = self._make()
            done = self._work(content)
            note.unlink(missing_ok=True)
            return _packed(None, done)
        except MirrormaskError as error:
            return _packed(type(error), str(error))
        except Exception as error:  # whatever it is: it comes back in one sentence that says where
            why = " ".join(f"{type(error).__name__}: {error}".split())
            told = f"A worker failed at {content.place} ({why:.300}). What was done is kept: mend that, and go on."
            return _packed(WorkerError, told)


def _packed(kind: type[MirrormaskError] | None, content: Any) -> pa.Table:
    return pa.table({"item": pa.array([pickle.dumps((kind, content))], pa.large_binary())})
