"""Losses on their way from the device to the log, so that a GPU need not wait for the host at every step."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Broken:
    """A step whose loss or gradient is no number."""

    step: int
    loss: float
    norm: float


class Losses:
    """Holds the losses of the last updates until they are asked for."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Tensor, Tensor, float]] = []
        self.since = time.monotonic()

    def add(self, step: int, loss: Tensor, norm: Tensor, learning_rate: float) -> None:
        """Take in the loss and the gradient's norm of an update, counted from 1."""
        self.waiting.append((step, loss, norm.detach(), learning_rate))

    def take(self) -> tuple[list[dict[str, float]], Broken | None]:
        """Return a row for each update since the last call, up to the first whose loss or gradient is no number."""
        if not self.waiting:
            return [], None
        values = torch.stack([torch.stack([loss.float(), norm.float()]) for _, loss, norm, _ in self.waiting]).tolist()
        now = time.monotonic()
        speed = len(self.waiting) / max(now - self.since, 1e-9)
        self.since = now
        taken, self.waiting = self.waiting, []
        rows: list[dict[str, float]] = []
        for (step, _, _, rate), (loss, norm) in zip(taken, values, strict=True):
            if not (math.isfinite(loss) and math.isfinite(norm)):
                return rows, Broken(step, loss, norm)
            row = {"step": step, "loss": loss, "gradient_norm": norm, "steps_per_second": speed, "learning_rate": rate}
            rows.append(row)
        return rows, None
