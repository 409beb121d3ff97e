"""Copies of an encoder beside the one in training: a twin, a slow average, one that stays as it was."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn


def copy_of(module: Any) -> Any:
    """Return a copy of a module with weights of its own; None for None."""
    return copy.deepcopy(module)


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, momentum: float) -> None:
    """Move the weights of `slow` a share `1 - momentum` of the way to those of `fast`."""
    torch._foreach_lerp_(list(slow.parameters()), list(fast.parameters()), 1 - momentum)


@contextlib.contextmanager
def still(encoder: nn.Module) -> Iterator[None]:
    """Let the encoder run without dropout inside the block."""
    was = encoder.training
    encoder.eval()
    try:
        yield
    finally:
        encoder.train(was)
