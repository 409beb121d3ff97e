"""Noise on the sentence vector, as wide in every dimension as the batch is.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.1, "GNI"

    z' = z + scale * s * e,  e ~ N(0, I),  s_j = standard deviation of dimension j over the batch

One forward makes both views: the anchor, and the anchor with noise. The thesis does not say whether the noise comes
before or after the head that exists in training only; `before_head` decides.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import above
from mirrormask.views import View, views


def add_batch_noise(z: Tensor, scale: float) -> Tensor:
    """Return vectors (n, d) with noise of `scale` times the batch's deviation in each dimension."""
    spread = z.detach().std(dim=0, correction=1 if len(z) > 1 else 0)  # (d,)
    return z + scale * spread * torch.randn_like(z)


@views.register("output-noise")
class OutputNoise(View):
    """Add noise with the batch's own deviations to the sentence vectors.

    Args:
        scale: of the noise, in deviations of the batch (Section 4.1.1 takes 1).
        before_head: whether it comes before the training-only head.

    Relations: `gaussian-noise` adds noise at the input instead; `anchor-noise` makes negatives the same way.

    Example:
        >>> OutputNoise().shares_forward
        True
    """

    shares_forward = True

    def __init__(self, scale: float = 1.0, before_head: bool = False) -> None:
        super().__init__()
        self.scale = above("scale", scale, 0, of="output-noise")
        self.before_head = before_head

    def output(self, z: Tensor) -> Tensor:
        """Return noisy sentence vectors."""
        return add_batch_noise(z, self.scale)
