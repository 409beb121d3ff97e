"""Tokens per second, and how much of a device's own rate a pretraining reaches, told along with each step."""

from __future__ import annotations

import numpy as np
import torch

from mirrormask.models.precision import Precision
from mirrormask.pretraining.flops import matmul_rate, step_flops
from mirrormask.pretraining.model import Pretraining
from mirrormask.pretraining.packing import PackedRows
from mirrormask.training.gather import world
from mirrormask.training.loop import Reporter, Score


class Rates(Reporter):
    """Adds tokens per second and the share of the device's matrix rate to what another reporter is told.

    Args:
        inner: that reporter.
        model: what is trained.
        rows: its batches.
        precision: of the forward.
        accumulation: batches of an update.
    """

    def __init__(
        self, inner: Reporter, model: Pretraining, rows: PackedRows, precision: Precision, accumulation: int
    ) -> None:
        self.inner = inner
        self.tokens = rows.batch_size * rows.length * accumulation  # of an update
        hidden = model.masking.count(rows.content)
        self.flops = accumulation * step_flops(model.lm, rows=rows.batch_size, length=rows.length, hidden=hidden)
        names = {"bf16": torch.bfloat16, "fp16": torch.float16}
        self.peak = matmul_rate(model.lm.device, names.get(precision.name, torch.float32)) * world()[1]
        self.seen: list[float] = []

    def say(self, text: str) -> None:
        """Pass it on."""
        self.inner.say(text)

    def start(self, total: int, done: int, precision: Precision) -> None:
        """Pass it on."""
        self.inner.start(total, done, precision)

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """Pass it on, with the rates of this step."""
        speed = metrics["steps_per_second"]
        self.seen.append(speed)
        rates = {"tokens_per_second": speed * self.tokens, "utilization": speed * self.flops / self.peak}
        self.inner.step(step, {**metrics, **rates})

    def evaluated(self, step: int, score: Score, best: bool) -> None:
        """Pass it on."""
        self.inner.evaluated(step, score, best)

    def stop(self) -> None:
        """Pass it on."""
        self.inner.stop()

    def summary(self) -> dict[str, float]:
        """Return the median speed of this process's steps."""
        speed = float(np.median(self.seen)) if self.seen else 0.0
        return {
            "tokens_per_second": speed * self.tokens,
            "model_tflops_per_second": speed * self.flops / 1e12,
            "matmul_tflops_per_second": self.peak / 1e12,
            "utilization": speed * self.flops / self.peak,
        }
