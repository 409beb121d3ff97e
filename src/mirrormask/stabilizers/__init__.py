"""Stabilizers: how gradients become an update, in one pass or two."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Protocol

import torch
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


@contextlib.contextmanager
def elsewhere(model: nn.Module, *, least_dimensions: int = 0) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """Give the open weights and their gradients, to be moved in place; afterwards the weights are back to the bit.

    Inside the block `model.moved` is true: what the model sees there is not what it is, and not to be remembered.

    Args:
        model: whose weights.
        least_dimensions: leave out weights of fewer dimensions; 2 leaves out biases and norms.
    """
    moved = [p for p in model.parameters() if p.grad is not None and p.ndim >= least_dimensions]
    weights = [p.detach() for p in moved]  # the same memory: what is done to these is done to the model
    kept = [weight.clone() for weight in weights]
    model.moved = True  # type: ignore[assignment]
    try:
        yield weights, [p.grad for p in moved if p.grad is not None]
    finally:
        model.moved = False  # type: ignore[assignment]
        if weights:
            torch._foreach_copy_(weights, kept)


stabilizers: Registry[Stabilizer] = Registry("stabilizer", __name__)
