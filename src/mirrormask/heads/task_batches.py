"""Batches of several tasks by number: one of each task a step, or of one task, drawn by the size of its data.

Paper: Stickland and Murray 2019, "BERT and PALs: Projected Attention Layers for Efficient Adaptation in Multi-Task
    Learning", Section 4.2

    p_i ~ N_i ^ a,  a = 1 (proportional), 1/2 (square root), or 1 - 0.8 (e - 1) / (E - 1) in epoch e of E (annealed)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Batch
from mirrormask.core.seeding import generator
from mirrormask.data.batching import Batches, prefetch
from mirrormask.heads.task_specs import SAMPLINGS

POWERS = dict(zip(SAMPLINGS[1:3], (1.0, 0.5), strict=True))
LOWEST = 0.2
"""The power in the last epoch of annealed sampling."""


class TaskBatches:
    """The batches of a run over several tasks; a task that is smaller begins anew, shuffled, when it is through.

    Args:
        tasks: the batches of each task.
        sampling: one of `SAMPLINGS`.
        steps: of the run.
        seed: of what is drawn.
    """

    def __init__(self, tasks: Mapping[str, Batches], *, sampling: str, steps: int, seed: int) -> None:
        self.tasks = dict(tasks)
        self.sampling = sampling
        self.drawn = None
        if sampling != "together" and len(tasks) > 1:
            self.drawn = self._draw(steps, seed)
            hot = self.drawn[:, None] == np.arange(len(tasks))
            self.before = np.cumsum(hot, axis=0) - hot  # batches of each task before a step

    def __len__(self) -> int:
        """Return the steps of an epoch: until every row of the largest task was seen, or as many as there are rows."""
        lengths = [len(each) for each in self.tasks.values()]
        return max(lengths) if self.sampling == "together" else sum(lengths)

    def at(self, step: int, *, rank: int = 0, world: int = 1) -> dict[str, Batch]:
        """Return the batch of every task that takes part in a step, or one process's rows of them."""
        if self.drawn is None:
            return {name: each.at(step, rank=rank, world=world) for name, each in self.tasks.items()}
        place = int(self.drawn[step])
        name = list(self.tasks)[place]
        return {name: self.tasks[name].at(int(self.before[step, place]), rank=rank, world=world)}

    def stream(self, start: int, stop: int, rank: int = 0, world: int = 1) -> Iterator[dict[str, Batch]]:
        """Yield the batches of steps `start` to `stop`, made ahead in a thread; close it when leaving early."""
        return prefetch(self, start, stop, rank, world)

    def _draw(self, steps: int, seed: int) -> NDArray[np.int64]:
        """Return the number of the task of every step (steps,)."""
        sizes = np.array([len(each.examples) for each in self.tasks.values()], dtype=np.float64)
        epoch = np.arange(steps) // len(self)
        last = max(1, int(epoch[-1])) if steps else 1
        powers = np.full(steps, POWERS.get(self.sampling, 1.0))
        if self.sampling == "annealed":
            powers = 1 - (1 - LOWEST) * epoch / last
        chances = sizes[None, :] ** powers[:, None]
        ends = np.cumsum(chances / chances.sum(axis=1, keepdims=True), axis=1)
        uniform = generator(seed, "tasks").random(steps)
        return (uniform[:, None] >= ends[:, :-1]).sum(axis=1)
