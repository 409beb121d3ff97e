"""Work on Ray: shards are read by Ray Data, and worked on by a pool of its actors, on this machine or on a cluster.

Ray gives a shard whose worker was killed to another one; one that kills several ends the work (`core/tries`).
"""

from __future__ import annotations

import contextlib
import math
import os
import pickle
import shutil
import socket
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from mirrormask.core.engines import Make, Read
from mirrormask.core.errors import MirrormaskError, MissingExtra, WorkerError
from mirrormask.core.locking import locked
from mirrormask.core.tries import TRIES, forget_tries

_PREFIX = "mm-ray-"
_YOUNG = 60  # seconds: a folder that is not held yet
_STORE = 256 << 20  # bytes for shards on their way, on this machine
_LONGEST = 40  # characters of a temporary folder's path: Ray's sockets lie deep below it, and theirs may have about 100
_SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",  # or a killed worker is told of on stdout
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_worker_niceness": "0",  # as fast as without Ray
}


class RayEngine:
    """A session of Ray inside a `with` block; one that the program has begun is used and left running.

    Args:
        address: of a cluster (`auto`, `host:port` or `ray://host:port`); by default a session on this machine.
        workers: how many actors; by default one for every GPU, or every core where there is none.
    """

    remote = True

    def __init__(self, address: str | None = None, workers: int | None = None) -> None:
        self.address, self.workers = address, workers
        self._left = contextlib.ExitStack()

    def __enter__(self) -> RayEngine:
        for name, value in _SETTINGS.items():
            os.environ.setdefault(name, value)
        ray = _ray()
        if not ray.is_initialized():
            quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
            self._left.callback(ray.shutdown)
            try:
                if self.address:
                    _check_reachable(self.address)
                with _hushed():
                    if self.address:
                        ray.init(address=self.address, **quiet)
                    else:
                        self._begin_here(ray, quiet)
            except (ImportError, OSError, RuntimeError, ValueError) as error:  # OSError: no connection, no time
                self._left.close()
                raise _not_begun(self.address, error) from error
        return self

    def __exit__(self, *_: object) -> None:
        self._left.close()

    def run(self, pieces: Sequence[Any], read: Read, make: Make, folder: Path) -> Iterator[Any]:
        """Yield what became of every shard, as it is done."""
        ray = _ray()
        forget_tries(folder)
        warnings.filterwarnings("ignore", r"The m\w+ number of concurrent", UserWarning)  # more workers than shards
        try:
            for batch in self._done(ray, pieces, read, make, folder).iter_batches(
                batch_size=None, prefetch_batches=0, batch_format="pyarrow"
            ):
                for cell in batch["item"]:
                    kind, content = pickle.loads(cell.as_py())
                    if kind is not None:
                        raise kind.__new__(kind, content)
                    yield content
        except ray.exceptions.RayTaskError as error:
            raise error.cause from error
        except ray.exceptions.RayError as error:
            raise _lost(error) from error
        finally:
            forget_tries(folder)

    def _done(self, ray: Any, pieces: Sequence[Any], read: Read, make: Make, folder: Path) -> Any:
        """Return a dataset of what becomes of the shards; nothing is done before it is read."""
        from ray.data import ActorPoolStrategy, DataContext

        from mirrormask.core.ray_source import Pieces, Worker

        there = ray.cluster_resources()
        gpus = int(there.get("GPU", 0))
        workers = self.workers or gpus or max(1, int(there.get("CPU", 1)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # copying warns of what it copies
            context = DataContext.get_current().copy()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # a shard travels alone: none waits for another
        context.max_consecutive_actor_init_deaths = TRIES
        with DataContext.current(context):
            shards = ray.data.read_datasource(
                Pieces(pieces, read),
                override_num_blocks=len(pieces),
                num_cpus=0,  # reading waits for workers, not they for it
                concurrency=min(workers, len(pieces)),
            )
            return shards.map_batches(
                Worker,
                fn_constructor_args=(make, folder),
                batch_size=1,
                batch_format="pyarrow",
                compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
                num_cpus=0 if gpus else 1,
                num_gpus=1 / math.ceil(workers / gpus) if gpus else None,
            )

    def _begin_here(self, ray: Any, quiet: dict[str, Any]) -> None:
        """Begin a session of this machine's own, whose files go with it."""
        place = tempfile.gettempdir() if len(tempfile.gettempdir()) < _LONGEST else "/tmp"
        _remove_left(Path(place))
        folder = tempfile.mkdtemp(prefix=_PREFIX, dir=place)
        self._left.callback(shutil.rmtree, folder, ignore_errors=True)
        self._left.enter_context(locked(folder))
        self._left.callback(ray.shutdown)  # before its files are removed
        ray.init(
            address="local",
            num_cpus=self.workers,
            include_dashboard=False,
            object_store_memory=_STORE,
            _temp_dir=folder,
            **quiet,
        )


def _remove_left(place: Path) -> None:
    """Remove the folders of sessions whose program was killed: nobody holds them any more."""
    for folder in place.glob(f"{_PREFIX}*"):
        with contextlib.suppress(MirrormaskError, OSError):
            if time.time() - folder.stat().st_mtime > _YOUNG:
                with locked(folder):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Let nothing be written to stderr inside the block: what Ray is made of says there that it will say nothing."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _ray() -> Any:
    try:
        import ray
        import ray.data
        import ray.exceptions
    except ImportError:
        raise MissingExtra("ray", "ray", "--engine ray") from None
    return ray


def _check_reachable(address: str) -> None:
    """Raise a ConnectionError where nobody listens: Ray itself would try for a minute."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdigit():
        try:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        except (OSError, OverflowError) as error:
            raise ConnectionError(getattr(error, "strerror", None) or str(error)) from error


def _not_begun(address: str | None, error: Exception) -> MirrormaskError:
    why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if address is None:
        return MirrormaskError(f"Ray did not start on this machine: {why}. Leave out --engine ray, or mend that.")
    return MirrormaskError(
        f"There is no Ray cluster that answers at {address}: {why}. Check --address, or leave it out to work on this "
        "machine."
    )


def _lost(error: Exception) -> WorkerError:
    why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    return WorkerError(
        f"Ray lost its workers and could not go on ({why:.200}). What was done is kept: look after the machines, "
        "and go on."
    )
