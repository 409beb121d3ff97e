"""What a run will take, measured on one of its own batches before it starts."""

from __future__ import annotations

import resource
import sys
import time
from dataclasses import dataclass

import torch
from torch import nn

from mirrormask.core.batch import Batch
from mirrormask.models.precision import Precision


@dataclass(frozen=True)
class Estimate:
    """Time and memory of a run.

    Args:
        seconds: of all updates; evaluations come on top.
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
        minutes = self.seconds / 60
        if self.seconds < 50:
            spell = _counted(round(self.seconds), "second")
        elif minutes < 90:
            spell = _counted(round(minutes), "minute")
        else:
            spell = f"{minutes / 60:.1f} hours"
        where = "GPU memory" if self.device == "cuda" else "memory"
        return f"about {spell} and {self.memory / 1e9:.1f} GB of {where}"


def _counted(count: int, unit: str) -> str:
    return f"{count} {unit}s" if count > 1 else f"1 {unit}"


def estimate(model: nn.Module, batch: Batch, steps: int, precision: Precision, *, passes: int = 1) -> Estimate:
    """Run one batch twice, without an update, and take the second run's time for each step."""
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
    return Estimate(seconds * steps * passes, peak + 2 * weights, device.type)


def _resident() -> int:
    """Return the most memory this process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
