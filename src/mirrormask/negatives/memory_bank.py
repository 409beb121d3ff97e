"""Memory bank: the vectors of earlier steps are negatives of this one.

Paper: He et al. 2020, "Momentum Contrast for Unsupervised Visual Representation Learning", Section 3.2 (the queue);
    Cao et al. 2022, "Exploring the Impact of Negative Samples of Contrastive Learning" (MoCoSE); Park 2023, "Data
    Augmentation, Stabilization and Negative Sample Generation Methods", Section 4.3, which keeps the queue alone

    extra_t = the newest `size` rows of (p_(t-1), p_(t-2), ...)

The bank keeps the side that stands for candidates, the positives. Whether a momentum encoder made them is the view's
matter: the bank stores what it is shown.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import at_least
from mirrormask.negatives import Criterion, NegativeSource, negatives, remember


@negatives.register("memory-bank")
class MemoryBank(NegativeSource):
    """Take the candidates of the last steps as further negatives.

    Args:
        size: vectors to keep; 0 keeps as many as a batch has rows.

    Relations: with a momentum encoder as the second view this is MoCo's queue; without, the thesis' memory bank.

    Example:
        >>> from mirrormask.core.batch import Batch, Tokens
        >>> bank, step = MemoryBank(size=3), Step(Batch((Tokens(()),)), torch.eye(2), torch.eye(2))
        >>> bank.observe(step), bank.observe(step), tuple(bank.draw(step, torch.sum).shape)
        (None, None, (3, 2))
    """

    bank: Tensor

    def __init__(self, size: int = 0) -> None:
        super().__init__()
        self.size = at_least("size", size, 0, of="memory-bank")
        self.register_buffer("bank", torch.empty(0))

    def draw(self, step: Step, criterion: Criterion) -> Tensor | None:
        """Return what the bank holds (m, d), nothing at the first step."""
        return self.bank.clone() if self.bank.numel() else None  # the graph must not see the next update

    @torch.no_grad()
    def observe(self, step: Step) -> None:
        """Put the candidates of the step in front."""
        remember(self.bank, step.positive.detach(), self.size or len(step.positive))
