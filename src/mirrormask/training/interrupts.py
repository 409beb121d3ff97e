"""Ctrl-C and a polite kill, made to wait for the end of a step, and agreed on by all processes of a run."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
import torch.distributed as dist

LOOK_SECONDS = 0.5
"""Time between two looks at what a GPU has done, which has to stand still for each."""


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and a polite kill end the step first; a second Ctrl-C goes to whoever took it before, and ends."""
    asked = False
    before: dict[int, Any] = {}

    def ask(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked and signum == signal.SIGINT:
            old = before[signum]
            (old if callable(old) else signal.default_int_handler)(signum, frame)
        asked = True

    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):  # not the main thread: leave signals alone
                before[name] = signal.signal(name, ask)
        yield lambda: asked
    finally:
        for number, old in before.items():
            signal.signal(number, old)


class Looks:
    """Says after which steps the host looks at what the device has done, and whether the run was asked to stop.

    Several processes look after the same steps, and if one was asked to stop all are: one that went on alone would wait
    for the others forever.

    Args:
        device: where the run computes.
        processes: how many there are.
        asked: whether this process was asked to stop.
    """

    def __init__(self, device: torch.device, processes: int, asked: Callable[[], bool]) -> None:
        self.device, self.processes, self.asked = device, processes, asked
        self.agreed = False
        self.step, self.next, self.since = 0, 0, time.monotonic()

    @property
    def stop(self) -> bool:
        """Say whether all are to stop now."""
        return self.asked() if self.processes == 1 else self.agreed

    def due(self, step: int, *, anyway: bool) -> bool:
        """Return whether to look after this step.

        Args:
            step: updates done.
            anyway: there is a reason to, the same for all processes.
        """
        passed = time.monotonic() - self.since
        if self.processes == 1:
            look = anyway or self.asked() or self.device.type == "cpu" or passed > LOOK_SECONDS
        else:
            look = anyway or step >= self.next
            if look:
                distance = 1.0 if self.device.type == "cpu" else (step - self.step) / passed * LOOK_SECONDS
                wishes = torch.tensor([float(self.asked()), distance], device=self.device)
                dist.all_reduce(wishes, op=dist.ReduceOp.MAX)
                self.agreed, self.next = bool(wishes[0] > 0), step + max(1, int(wishes[1]))
        if look:
            self.step, self.since = step, time.monotonic()
        return look
