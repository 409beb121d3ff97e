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
    """A step whose loss or gradient is no number, or whose update would have made weights that are none."""

    step: int
    loss: float = 0.0
    norm: float = 0.0

    @property
    def finite(self) -> bool:
        """Say whether loss and gradient are numbers, so that it was the update that broke."""
        return math.isfinite(self.loss) and math.isfinite(self.norm)

    def __str__(self) -> str:
        """Return what is wrong, in words."""
        if self.finite:
            return f"The update of step {self.step} makes weights that are no numbers"
        return f"The loss of step {self.step} is {self.loss} (gradient norm {self.norm})"


class Losses:
    """Holds the losses of the last updates until they are asked for."""

    def __init__(self) -> None:
        self.waiting: list[tuple[int, Tensor, Tensor, float, Mapping[str, Tensor], bool]] = []
        self.since = time.monotonic()

    def add(
        self,
        step: int,
        loss: Tensor,
        norm: Tensor,
        learning_rate: float,
        details: Mapping[str, Tensor] | None = None,
        *,
        updated: bool = True,
    ) -> None:
        """Take in a step.

        Args:
            step: its number, counted from 1.
            loss: its loss.
            norm: of its gradient.
            learning_rate: of its update.
            details: what else the model measured.
            updated: whether its update was made.
        """
        self.waiting.append((step, loss, norm.detach(), learning_rate, details or {}, updated))

    def take(self) -> tuple[list[dict[str, float]], Broken | None]:
        """Return a row for each step since the last call, up to the first that is broken."""
        if not self.waiting:
            return [], None
        every = [(loss, norm, *details.values()) for _, loss, norm, _, details, _ in self.waiting]
        values = iter(torch.stack([value.float() for row in every for value in row]).tolist())  # one wait for all
        now = time.monotonic()
        speed = len(self.waiting) / max(now - self.since, 1e-9)
        self.since = now
        taken, self.waiting = self.waiting, []
        rows: list[dict[str, float]] = []
        for step, _, _, rate, details, updated in taken:
            loss, norm, measured = next(values), next(values), {name: next(values) for name in details}
            broken = Broken(step, loss, norm)
            if not (updated and broken.finite):
                return rows, broken
            row = {"step": step, "loss": loss, "gradient_norm": norm, "steps_per_second": speed, "learning_rate": rate}
            rows.append({**row, **measured})
        return rows, None
