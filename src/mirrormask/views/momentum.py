"""A momentum encoder: the second view is seen by a slow average of the encoder.

Paper: He et al. 2020, "Momentum Contrast for Unsupervised Visual Representation Learning" (MoCo), Eq. 2

    k <- momentum * k + (1 - momentum) * q  after every update;  positive = f_k(x), without a gradient
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from mirrormask.core.errors import between
from mirrormask.models.copies import copy_of, follow, still
from mirrormask.views import View, views


@views.register("momentum")
class Momentum(View):
    """See the sentence with a slow average of the trained encoder, which takes no gradient.

    Args:
        momentum: how much of the average stays at an update (MoCo takes 0.999 for images).
        dropout: whether the slow encoder drops units too.

    Relations: with the source of negatives `memory-bank` it is MoCo; ESimCSE's slow encoder only fills the queue,
        which is the bank's own `momentum`; `twin` is trained itself.

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
        with torch.no_grad(), contextlib.nullcontext() if self.dropout else still(encoder):
            yield

    def observe(self, encoder: Any, head: nn.Module | None) -> None:
        """Follow the trained encoder and its head."""
        follow(self.encoder, encoder, self.momentum)
        if self.head is not None and head is not None:
            follow(self.head, head, self.momentum)

    @property
    def forward_key(self) -> str:
        """Return a key of its own: no other view has this average."""
        return f"momentum {id(self)}"
