"""Noise added to the anchors: negatives that lie around each sentence of the batch.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.3, "GNI to anchor encoder output"

    x_j = a_(j mod n) + s * e_j,  e_j ~ N(0, I),  s = deviation of each dimension over the batch

An anchor meets its own noisy copy among them, which pushes it from itself; the thesis finds that this hurts.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.negatives import Criterion, NegativeSource, count_of, negatives
from mirrormask.negatives.gaussian import moments


def noisy_anchors(anchor: Tensor, count: int, *, scale: float = 1.0) -> Tensor:
    """Return `count` anchors with noise of the batch's own deviation on each dimension, in turn, as (count, d)."""
    _, spread = moments(anchor)
    noise = torch.randn(count, anchor.shape[1], dtype=anchor.dtype, device=anchor.device)
    return anchor[torch.arange(count, device=anchor.device) % len(anchor)] + scale * spread * noise


@negatives.register("anchor-noise")
class AnchorNoise(NegativeSource):
    """Draw negatives around the anchors.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        scale: of the noise, in deviations of the batch.
        detach: keep the gradient from flowing into the anchors through their noisy copies.

    Relations: `gaussian` draws around the mean of the batch instead.

    Example:
        >>> AnchorNoise(multiple=2.0).multiple
        2.0
    """

    def __init__(self, multiple: float = 1.0, scale: float = 1.0, detach: bool = True) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="anchor-noise")
        self.scale = above("scale", scale, 0, of="anchor-noise")
        self.detach = detach

    def draw(self, step: Step, criterion: Criterion) -> Tensor:
        """Return the noisy anchors (m, d)."""
        anchor = step.anchor.detach() if self.detach else step.anchor
        return noisy_anchors(anchor, count_of(self.multiple, len(anchor)), scale=self.scale)
