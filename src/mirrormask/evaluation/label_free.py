"""A score without labels: the method's own loss on pairs of held-out text.

The texts were set aside before training and their pairs are drawn once, dropout included, and negatives are those of
the batch alone, so that checkpoints differ in the encoder alone. What it can and cannot see is measured in the guide:
it stops a run that no longer learns its own task, and it does not know whether that task is the right one.
"""

from __future__ import annotations

from typing import Any

import torch

from mirrormask.core.seeding import derive
from mirrormask.data.batching import Batches
from mirrormask.models.precision import best_precision
from mirrormask.training.gather import alone
from mirrormask.training.loop import Score

NAME = "held-out loss"
EXPLANATION = (
    "No dev set was given: checkpoints are chosen without labels, by the method's own loss on texts set aside."
)


class HeldOutLoss:
    """Scores a method as it is now by minus its loss on held-out batches, the same draws every time.

    Args:
        method: the `Method` in training.
        batches: of texts that training does not see.
    """

    def __init__(self, method: Any, batches: Batches) -> None:
        self.method = method
        self.batches = batches

    @torch.no_grad()
    def __call__(self) -> Score:
        """Return minus the mean loss over the held-out batches, to two digits: smaller differences are chance."""
        device = next(self.method.parameters()).device
        was_training = self.method.training
        self.method.train()  # two dropout views are one and the same without dropout
        source, self.method.negatives = self.method.negatives, None  # what it remembers differs between checkpoints
        losses = []
        try:
            with alone(), best_precision(device).autocast(device):
                for number in range(len(self.batches)):
                    seed = derive(0, "held-out", number)
                    torch.manual_seed(seed)
                    losses.append(float(self.method(self.batches.at(number), seed)))
        finally:
            self.method.negatives = source
            self.method.train(was_training)
        loss = sum(losses) / len(losses)
        return Score(-round(loss, 2), {"held_out_loss": loss})
