"""Losses on their way from the device to the log, so that a GPU need not wait for the host at every step."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
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
        self.waiting: list[tuple[int, Tensor, Tensor, float, Mapping[str, Tensor]]] = []
        self.since = time.monotonic()

    def age(self) -> float:
        """Return the seconds since the losses were last taken."""
        return time.monotonic() - self.since

    def add(
        self, step: int, loss: Tensor, norm: Tensor, learning_rate: float, details: Mapping[str, Tensor] | None = None
    ) -> None:
        """Take in the loss and the gradient's norm of an update, counted from 1, and what else the model measured."""
        self.waiting.append((step, loss, norm.detach(), learning_rate, details or {}))

    def take(self) -> tuple[list[dict[str, float]], Broken | None]:
        """Return a row for each update since the last call, up to the first whose loss or gradient is no number."""
        if not self.waiting:
            return [], None
        every = [(loss, norm, *details.values()) for _, loss, norm, _, details in self.waiting]
        values = iter(torch.stack([value.float() for row in every for value in row]).tolist())  # one wait for all
        now = time.monotonic()
        speed = len(self.waiting) / max(now - self.since, 1e-9)
        self.since = now
        taken, self.waiting = self.waiting, []
        rows: list[dict[str, float]] = []
        for step, _, _, rate, details in taken:
            loss, norm, measured = next(values), next(values), {name: next(values) for name in details}
            if not (math.isfinite(loss) and math.isfinite(norm)):
                return rows, Broken(step, loss, norm)
            row = {"step": step, "loss": loss, "gradient_norm": norm, "steps_per_second": speed, "learning_rate": rate}
            rows.append({**row, **measured})
        return rows, None
