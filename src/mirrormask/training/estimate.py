"""What a run will take, measured on one of its own batches before it starts."""

from __future__ import annotations

import contextlib
import resource
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import nn

from mirrormask.core.batch import Batch
from mirrormask.core.wording import counted
from mirrormask.models.precision import Precision


@dataclass(frozen=True)
class Estimate:
    """Time and memory of a run.

    Args:
        seconds: of all updates and evaluations.
        memory: bytes at the highest point.
        device: where that memory is.
    """

    seconds: float
    memory: int
    device: str

    def __str__(self) -> str:
        """Return both in words.

        Example:
            >>> print(Estimate(95.0, 1_500_000_000, "cpu"))
            about 2 minutes and 1.5 GB of memory
        """
        where = "GPU memory" if self.device == "cuda" else "memory"
        return f"{in_words(self.seconds)} and {self.memory / 1e9:.1f} GB of {where}"


def in_words(seconds: float) -> str:
    """Return a time as one would say it.

    Example:
        >>> in_words(0.2), in_words(61), in_words(9000)
        ('about 1 second', 'about 1 minute', 'about 2.5 hours')
    """
    minutes = seconds / 60
    if seconds < 50:
        return f"about {counted(max(1, round(seconds)), 'second')}"
    return f"about {counted(round(minutes), 'minute')}" if minutes < 90 else f"about {minutes / 60:.1f} hours"


class Remaining:
    """What is left of a run, from what it has taken so far: updates with the reading of their batches, evaluations.

    Args:
        done: updates done before.
        total: updates of the run.
        evaluate_every: updates between evaluations; 0 where there are none.
    """

    def __init__(self, done: int, total: int, evaluate_every: int) -> None:
        self.first, self.total, self.evaluate_every = done, total, evaluate_every
        self.begun = time.monotonic()
        self.measuring, self.measured = 0.0, 0

    @contextlib.contextmanager
    def evaluation(self) -> Iterator[None]:
        """Count what is done inside the block as an evaluation."""
        begun = time.monotonic()
        yield
        self.measuring += time.monotonic() - begun
        self.measured += 1

    def seconds(self, done: int) -> float:
        """Return the seconds left after so many updates."""
        steps = (time.monotonic() - self.begun - self.measuring) / max(1, done - self.first)
        to_come = -(-(self.total - done) // self.evaluate_every) if self.evaluate_every else 0
        return steps * (self.total - done) + self.measuring / max(1, self.measured) * to_come


def estimate(
    model: nn.Module,
    batch: Batch,
    steps: int,
    precision: Precision,
    *,
    passes: int = 1,
    reading: float = 0.0,
    evaluations: float = 0.0,
) -> Estimate:
    """Run one batch twice, without an update, and take the second run's time for each step.

    Args:
        model: what is trained.
        batch: of the run.
        steps: updates.
        precision: of the forward.
        passes: how often a step runs a batch.
        reading: seconds of making the batches of a step; beside a GPU they are made while it computes.
        evaluations: seconds of all evaluations.
    """
    device = next(model.parameters()).device
    was_training = model.training
    model.train()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        for _ in range(2):
            begun = time.monotonic()
            with precision.autocast(device):
                loss = model(batch, 0)
            loss.backward()
            if device.type == "cuda":
                torch.cuda.synchronize()
            seconds = time.monotonic() - begun
    model.zero_grad(set_to_none=True)
    model.train(was_training)
    weights = sum(p.numel() * p.element_size() for p in model.parameters() if p.requires_grad)
    peak = torch.cuda.max_memory_allocated() if device.type == "cuda" else _resident()
    step = max(seconds * passes, reading) if device.type == "cuda" else seconds * passes + reading
    return Estimate(step * steps + evaluations, peak + 2 * weights, device.type)


def _resident() -> int:
    """Return the most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
