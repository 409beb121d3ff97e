"""A momentum encoder: the second view is seen by a slow average of the encoder.

Paper: He et al. 2020, "Momentum Contrast for Unsupervised Visual Representation Learning" (MoCo), Eq. 2

    k <- momentum * k + (1 - momentum) * q  after every update;  positive = f_k(x), without a gradient

Cao et al. 2022 (MoCoSE) let the momentum rise to 1 along a cosine over T updates, as in BYOL:

    momentum_t = 1 - (1 - momentum) * (cos(pi * t / T) + 1) / 2
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.errors import at_least, between
from mirrormask.models.copies import copy_of, follow, still
from mirrormask.models.training_heads import shared_part
from mirrormask.views import View, views


def momentum_at(momentum: float, update: int, rising: int) -> float:
    """Return the momentum of an update, which rises to 1 over so many.

    Example:
        >>> momentum_at(0.75, 0, 100), momentum_at(0.75, 50, 100), momentum_at(0.75, 100, 100)
        (0.75, 0.875, 1.0)
    """
    return 1 - (1 - momentum) * (math.cos(math.pi * min(update, rising) / rising) + 1) / 2


@views.register("momentum")
class Momentum(View):
    """See the sentence with a slow average of the trained encoder, which takes no gradient.

    Args:
        momentum: how much of the average stays at an update (MoCo takes 0.999 for images).
        dropout: whether the slow encoder drops units too.
        rising: updates over which the momentum rises to 1; 0 leaves it as it is.

    A head with a predictor on top is followed without it.

    Relations: with the source of negatives `memory-bank` it is MoCo; ESimCSE's slow encoder only fills the queue,
        which is the bank's own `momentum`; `twin` is trained itself.

    Example:
        >>> Momentum().momentum
        0.995
    """

    updates: Tensor

    def __init__(self, momentum: float = 0.995, dropout: bool = True, rising: int = 0) -> None:
        super().__init__()
        self.momentum = between("momentum", momentum, 0, 1, of="momentum")
        self.dropout = dropout
        self.rising = at_least("rising", rising, 0, of="momentum")
        if rising:
            self.register_buffer("updates", torch.zeros((), dtype=torch.int64))
        self.encoder: Any = None
        self.head: nn.Module | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Copy the encoder and its head."""
        self.encoder, self.head = copy_of(encoder), copy_of(shared_part(head))
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
        with torch.no_grad(), contextlib.nullcontext() if self.dropout else still(encoder):
            yield

    def observe(self, encoder: Any, head: nn.Module | None) -> None:
        """Follow the trained encoder and its head."""
        momentum, shared = self.momentum, shared_part(head)
        if self.rising:
            self.updates += 1
            momentum = momentum_at(self.momentum, int(self.updates), self.rising)
        follow(self.encoder, encoder, momentum)
        if self.head is not None and shared is not None:
            follow(self.head, shared, momentum)

    @property
    def forward_key(self) -> str:
        """Return a key of its own: no other view has this average."""
        return f"momentum {id(self)}"
