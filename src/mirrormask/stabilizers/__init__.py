"""Stabilizers: how gradients become an update, in one pass or two."""

from __future__ import annotations

from typing import Protocol

from torch import Tensor, nn

from mirrormask.core.registry import Registry


class Closure(Protocol):
    """Zeroes the gradients, runs forward and backward of the whole accumulated batch, returns the loss; no update."""

    def __call__(self, draw: int = 0) -> Tensor:
        """Run, with the dropout of this draw: the same number replays it."""


class Stabilizer(nn.Module):
    """Calls the closure, once or more, and leaves the gradients the optimizer shall use."""

    passes = 1
    """How many times a step calls the closure."""

    def step(self, closure: Closure, model: nn.Module) -> Tensor:
        """Return the loss of the first call, with the final gradients in place."""
        raise TypeError(f"{type(self).__name__} defines no step.")


stabilizers: Registry[Stabilizer] = Registry("stabilizer", __name__)
