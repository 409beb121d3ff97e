"""Noise filtered with the batch's covariance: dimensions vary together as those of sentences do.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.3, "filtered with covariance matrix"

    product:  x = C (m + s * e)                     as the thesis says, an inner product with the covariance matrix C
    root:     x = m + A' u / sqrt(n - 1)            which has mean m and covariance C

with A the centered anchors (n, d), e ~ N(0, I_d) and u ~ N(0, I_n). The product stretches every direction by its
variance twice over, once too often for samples that look like the batch; the root is the corrected form and needs no
factorization, because C = A'A / (n - 1) is a product already.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, one_of
from mirrormask.negatives import Criterion, NegativeSource, count_of, negatives
from mirrormask.negatives.gaussian import gaussian_noise

FILTERS = ("root", "product")


def covariance_noise(anchor: Tensor, count: int, *, filter: str = "root") -> Tensor:
    """Return `count` draws whose dimensions vary together as those of the anchors (n, d) do, as (count, d)."""
    n = len(anchor)
    mean = anchor.mean(dim=0)
    centered = (anchor - mean) / math.sqrt(max(1, n - 1))
    if filter == "product":
        return gaussian_noise(anchor, count) @ centered.T @ centered
    return mean + torch.randn(count, n, dtype=anchor.dtype, device=anchor.device) @ centered


@negatives.register("covariance")
class Covariance(NegativeSource):
    """Draw noise with the batch's mean and covariance.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        filter: `root` gives samples of that covariance, `product` multiplies by it as the thesis does.
        detach: keep the gradient from flowing into the anchors through the moments.

    Relations: `gaussian` keeps only the diagonal; `mixture` has several centers.

    Example:
        >>> Covariance(filter="product").filter
        'product'
    """

    def __init__(self, multiple: float = 1.0, filter: str = "root", detach: bool = True) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="covariance")
        self.filter = one_of("filter", filter, FILTERS, of="covariance")
        self.detach = detach

    def draw(self, step: Step, criterion: Criterion) -> Tensor:
        """Return the noise (m, d)."""
        anchor = step.anchor.detach() if self.detach else step.anchor
        return covariance_noise(anchor, count_of(self.multiple, len(anchor)), filter=self.filter)
