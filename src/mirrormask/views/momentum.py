"""A momentum encoder: the second view is seen by a slow average of the encoder.

Paper: He et al. 2020, "Momentum Contrast for Unsupervised Visual Representation Learning" (MoCo), Eq. 2; for
    sentences, Wu et al. 2022, "ESimCSE"

    k <- momentum * k + (1 - momentum) * q  after every update;  positive = f_k(x), without a gradient
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from mirrormask.core.errors import between
from mirrormask.views import View, views
from mirrormask.views.twin import copy_of


@torch.no_grad()
def follow(slow: nn.Module, fast: nn.Module, momentum: float) -> None:
    """Move the weights of `slow` a share `1 - momentum` of the way to those of `fast`."""
    torch._foreach_lerp_(list(slow.parameters()), list(fast.parameters()), 1 - momentum)


@views.register("momentum")
class Momentum(View):
    """See the sentence with a slow average of the trained encoder, which takes no gradient.

    Args:
        momentum: how much of the average stays at an update (ESimCSE takes 0.995).
        dropout: whether the slow encoder drops units too (ESimCSE switches it off for its queue).

    Relations: with the source of negatives `memory-bank` it is MoCo's queue; `twin` is trained itself.

    Example:
        >>> Momentum().momentum
        0.995
    """

    def __init__(self, momentum: float = 0.995, dropout: bool = True) -> None:
        super().__init__()
        self.momentum = between("momentum", momentum, 0, 1, of="momentum")
        self.dropout = dropout
        self.encoder: Any = None
        self.head: nn.Module | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Copy the encoder and its head."""
        self.encoder, self.head = copy_of(encoder), copy_of(head)
        self.requires_grad_(False)

    def encoder_of(self, encoder: Any) -> Any:
        """Return the slow encoder."""
        return self.encoder

    def head_of(self, head: nn.Module | None) -> nn.Module | None:
        """Return the slow head."""
        return self.head

    @contextlib.contextmanager
    def forward_with(self, encoder: Any) -> Iterator[None]:
        """Run without a gradient, and without dropout where it is off."""
        with torch.no_grad(), contextlib.nullcontext() if self.dropout else _still(encoder):
            yield

    def output(self, z: torch.Tensor) -> torch.Tensor:
        """Return the vectors without a gradient: the head is frozen, and nothing else is behind them."""
        return z.detach()

    def observe(self, encoder: Any, head: nn.Module | None) -> None:
        """Follow the trained encoder and its head."""
        follow(self.encoder, encoder, self.momentum)
        if self.head is not None and head is not None:
            follow(self.head, head, self.momentum)

    @property
    def forward_key(self) -> str:
        """Return a key of its own: no other view has this average."""
        return f"momentum {id(self)}"


@contextlib.contextmanager
def _still(encoder: nn.Module) -> Iterator[None]:
    was = encoder.training
    encoder.eval()
    try:
        yield
    finally:
        encoder.train(was)
