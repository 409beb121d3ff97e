"""Memory bank: the vectors of earlier steps are negatives of this one.

Paper: He et al. 2020, "Momentum Contrast for Unsupervised Visual Representation Learning", Section 3.2 (the queue);
    Wu et al. 2022, "ESimCSE" (a queue that a slow encoder fills); Cao et al. 2022, "Exploring the Impact of Negative
    Samples of Contrastive Learning" (MoCoSE); Park 2023, "Data Augmentation, Stabilization and Negative Sample
    Generation Methods", Section 4.3, which keeps the queue alone

    extra_t = the newest `size` rows of (p_(t-1), p_(t-2), ...)

Without `momentum` the bank keeps the side that stands for candidates, the positives, whoever made them: with the view
`momentum` that is MoCo. With it, as in ESimCSE, a slow average of the encoder fills the bank, without dropout, and the
positives of a step are left to the trained encoder:

    k <- momentum * k + (1 - momentum) * q  after every update;  p_t = f_k(x_t)
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.batch import Step
from mirrormask.core.errors import at_least, between
from mirrormask.models.copies import copy_of, follow, still
from mirrormask.negatives import Criterion, Local, NegativeSource, negatives, remember


@negatives.register("memory-bank")
class MemoryBank(NegativeSource):
    """Take the candidates of the last steps as further negatives.

    Args:
        size: vectors to keep; 0 keeps as many as an update has rows (ESimCSE takes 2.5 times the batch).
        momentum: how much of a slow encoder that fills the bank stays at an update (ESimCSE takes 0.995); 0 fills it
            with the positives.
        slow_head: whether the slow encoder has a slow head too; ESimCSE's code puts the trained one on it.

    Relations: with a momentum encoder as the second view this is MoCo's queue; without, the thesis' memory bank. With
        `momentum` and the view `word-repetition` it is ESimCSE.

    Example:
        >>> bank, step = MemoryBank(size=3), Step(torch.eye(2), torch.eye(2))
        >>> bank.observe(step), bank.observe(step), tuple(bank.draw(step, torch.sum).shape)
        (None, None, (3, 2))
    """

    bank: Tensor

    def __init__(self, size: int = 0, momentum: float = 0.0, slow_head: bool = True) -> None:
        super().__init__()
        self.size = at_least("size", size, 0, of="memory-bank")
        self.momentum = between("momentum", momentum, 0, 1, of="memory-bank")
        self.slow_head = slow_head
        self.encoder: Any = None
        self.head: nn.Module | None = None
        self.register_buffer("bank", torch.empty(0))

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Copy the encoder and its head, where a slow one fills the bank."""
        if self.momentum:
            self.encoder, self.head = copy_of(encoder), copy_of(head) if self.slow_head else None
            self.requires_grad_(False)

    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return what the bank holds (m, d), nothing at the first step."""
        return self.bank.clone() if self.bank.numel() else None  # the graph must not see the next update

    @torch.no_grad()
    def observe(self, step: Step, local: Local | None = None) -> None:
        """Put the candidates of the update in front."""
        found = step.positive.detach()
        if self.encoder is not None and local is not None:
            follow(self.encoder, local.encoder, self.momentum)
            if self.head is not None and local.head is not None:
                follow(self.head, local.head, self.momentum)
            head = self.head if self.slow_head else local.head
            with still(self.encoder), contextlib.nullcontext() if head is None else still(head):
                each = [local.encode(self.encoder, head, batch.columns[0]) for batch in local.batches]
            found = torch.cat(each)
        remember(self.bank, found, self.size or len(found))
