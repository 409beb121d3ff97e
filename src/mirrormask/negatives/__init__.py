"""Negative sources: vectors an anchor is pushed from besides its batch. In-batch negatives need no source."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from mirrormask.core.batch import Step
from mirrormask.core.registry import Registry

Criterion = Callable[[Step], Tensor]


class NegativeSource(nn.Module):
    """Draws extra negatives for a step, and may remember what it saw; its buffers join checkpoints."""

    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return extra negatives (m, d), or None when there are none yet."""
        raise TypeError(f"{type(self).__name__} defines no draw.")

    def observe(self, step: Step) -> None:
        """See the step once, after the update."""


negatives: Registry[NegativeSource] = Registry("negative source", __name__)
