"""Ctrl-C and a polite kill, made to wait for the end of a step."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType


@contextlib.contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and a polite kill end the step first; a second Ctrl-C ends at once."""
    asked = False

    def ask(signum: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True

    before = {}
    try:
        for name in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(ValueError):  # not the main thread: leave signals alone
                before[name] = signal.signal(name, ask)
        yield lambda: asked
    finally:
        for name, old in before.items():
            signal.signal(name, old)
