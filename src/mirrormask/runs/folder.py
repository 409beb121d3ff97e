"""The folder of a run: one command at a time writes there, finished runs are not written over, leftovers are tidied."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.locking import LOCK, locked
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.storage import check_writable, read_json, recovered
from mirrormask.training.checkpoint import STATE
from mirrormask.training.gather import join
from mirrormask.training.loop import BEST, CHECKPOINT, METRICS

RECORD, MODEL, WORK = "run.json", "model", "work"
OWN = (MODEL, RECORD, WORK, CHECKPOINT, BEST)
"""What a run replaces as a whole in its folder."""


@dataclass(frozen=True)
class RunResult:
    """What a run left behind.

    Args:
        folder: the run's folder.
        model: the folder of the encoder.
        record: everything about the run, as in its `run.json`.
    """

    folder: Path
    model: Path
    record: dict[str, Any]


@contextlib.contextmanager
def held_folder(out: Path, *, resume: bool) -> Iterator[RunResult | None]:
    """Open the folder of a run, as `open_folder` does, and let no other command write there inside the block.

    Where several processes make the run, the first holds the folder and all are told the same.
    """
    rank, processes = join()
    with contextlib.ExitStack() as stack:
        found: list[Any] = [None]
        if rank == 0:
            try:
                if not is_finished(out) or (out / LOCK).is_file():  # a kill at the very end leaves the file
                    check_writable(out)  # better now than after an hour
                    stack.enter_context(locked(out))
                found = [open_folder(out, resume=resume)]
            except MirrormaskError as error:
                found = [error]
        if processes > 1:
            broadcast_object_list(found)
        if isinstance(found[0], MirrormaskError):
            raise found[0]
        yield found[0]


def is_finished(out: Path) -> bool:
    """Say whether a folder holds a finished run."""
    return (out / RECORD).is_file() and (out / MODEL).is_dir()


def begun_with(out: Path, part: str) -> str:
    """Return the model or the method that the unfinished run in a folder began with, whatever the default is by now.

    Args:
        out: the folder; where there is no such run in it, the answer is empty.
        part: `model` or `method`.
    """
    state = recovered(out / CHECKPOINT) / STATE
    try:
        return str(read_json(state)["plan"]["recipe"][part]["name"]) if state.is_file() else ""
    except (OSError, ValueError, KeyError, TypeError):  # whoever loads the checkpoint says that it is damaged
        return ""


def open_folder(out: Path, *, resume: bool) -> RunResult | None:
    """Tidy the folder of a run and return the finished run in it when resuming; refuse to write over one otherwise."""
    done = is_finished(out)
    if done and resume:
        tidy(out)
        return RunResult(out, out / MODEL, read_json(out / RECORD))
    if done:
        raise MirrormaskError(f"{out} holds a finished run. Give another --out, or remove the folder.")
    for name in OWN:
        recovered(out / name)
    if (out / CHECKPOINT).is_dir() and not resume:
        raise MirrormaskError(f"{out} holds an unfinished run. Go on with --resume, give another --out, or remove it.")
    return None


def tidy(out: Path) -> None:
    """Remove what a finished run no longer needs, and what kills left."""
    with contextlib.suppress(OSError):  # a run that may only be read is as good
        for leftover in (CHECKPOINT, BEST, WORK):
            shutil.rmtree(out / leftover, ignore_errors=True)
        for name in OWN:
            recovered(out / name)


def spare_read(out: Path, *inputs: Path | str) -> None:
    """Refuse a run's folder in which writing or tidying up would strike one of these inputs."""
    spare_inputs(inputs, replaced=[out / name for name in (*OWN, METRICS)], into=out)
