"""Batches by number: any step of any epoch can be asked for, and gives the same rows every time.

That makes a resumed run exact and lets every process cut its own share out of the joint batch.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator
from typing import Protocol, TypeVar

import torch

from mirrormask.core.batch import Batch, Frame, Tokens, text_ids_of
from mirrormask.core.errors import DataError, MirrormaskError, at_least
from mirrormask.core.seeding import derive
from mirrormask.data.order import shuffled
from mirrormask.data.pairs import Examples

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Numbered(Protocol[T_co]):
    """Batches that can be asked for by their number."""

    def at(self, step: int, *, rank: int = 0, world: int = 1) -> T_co:
        """Return the batch of a step, or one process's rows of it."""
        ...


class Batches:
    """The batches of a run: every epoch shuffled anew, rows framed with special tokens, no row twice in an epoch.

    Args:
        examples: what the batches are drawn from.
        frame: the ids around every text.
        batch_size: rows of the joint batch of all processes.
        max_length: most tokens of a row, the frame included.
        seed: of the order and of what pairings draw.
        drop_last: leave out the last batch of an epoch where it is not full.
        min_rows: leave out a last batch of fewer rows; one row alone has no negatives, and with several processes
            each needs a row.
    """

    def __init__(
        self,
        examples: Examples,
        frame: Frame,
        *,
        batch_size: int,
        max_length: int,
        seed: int,
        drop_last: bool = False,
        min_rows: int = 2,
    ) -> None:
        self.examples = examples
        self.frame = frame
        self.batch_size = batch_size
        self.max_length = at_least("max_length", max_length, len(frame) + 1, of="batches")
        self.seed = seed
        if batch_size < min_rows:
            raise MirrormaskError(
                f"The 'batch_size' must be at least {min_rows}, because a row alone has no negatives. Got {batch_size}."
            )
        full, rest = divmod(len(examples), batch_size)
        self._steps = full + (rest >= min_rows and not drop_last)
        if self._steps == 0:
            raise DataError(
                f"{len(examples):,} examples do not fill a batch of {batch_size}. Lower 'batch_size' or give more text."
            )

    def __len__(self) -> int:
        return self._steps

    def at(self, step: int, *, rank: int = 0, world: int = 1) -> Batch:
        """Return the batch of a step counted from the beginning of the run, or one process's rows of it.

        The shares of the processes are neighbors in the joint batch, differ by at most one row and share none.
        """
        epoch, place = divmod(step, self._steps)
        start = place * self.batch_size
        stop = min(start + self.batch_size, len(self.examples))
        rows = stop - start
        order = shuffled(len(self.examples), self.examples.together, derive(self.seed, "epoch", epoch))
        drawn = order.take(start + rows * rank // world, start + rows * (rank + 1) // world)
        columns = self.examples.columns(drawn, derive(self.seed, "pairs", epoch))
        framed = tuple(Tokens.of(self.frame.around_each(column, self.max_length)) for column in columns)
        labels = self.examples.labels(drawn)
        return Batch(framed, None if labels is None else torch.from_numpy(labels), text_ids_of(framed))

    def stream(self, start: int, stop: int, rank: int = 0, world: int = 1) -> Iterator[Batch]:
        """Yield the batches of steps `start` to `stop`, made ahead in a thread; close it when leaving early."""
        return prefetch(self, start, stop, rank, world)


def prefetch(
    batches: Numbered[T], start: int, stop: int, rank: int = 0, world: int = 1, *, ahead: int = 4
) -> Iterator[T]:
    """Yield batches that a background thread makes, at most `ahead` of them early.

    An error in the thread is raised here, in its place. The thread ends when the generator is closed.
    """
    made: queue.Queue[T | BaseException | None] = queue.Queue(ahead)
    closing = threading.Event()

    def put(item: T | BaseException | None) -> bool:
        while not closing.is_set():
            try:
                made.put(item, timeout=0.1)
                return True
            except queue.Full:
                continue
        return False

    def work() -> None:
        try:
            for step in range(start, stop):
                if not put(batches.at(step, rank=rank, world=world)):
                    return
            put(None)
        except BaseException as error:
            put(error)

    thread = threading.Thread(target=work, name="mirrormask-batches", daemon=True)
    thread.start()
    try:
        while (item := made.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        closing.set()
        thread.join()
