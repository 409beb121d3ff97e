"""Gaussian noise with the batch's own mean and deviation, as negatives.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.3 and Table 7; Wu et al. 2022, "Smoothed Contrastive Learning for Unsupervised
    Sentence Embedding" (GS-InfoNCE: noise around zero)

    x = m + s * e,  e ~ N(0, I),  m in {mean of the anchors, 0},  s in {deviation of each dimension, 1}

Under cosine scores N(0, 1) has no scale: any other deviation that all dimensions share gives the same negatives.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, one_of
from mirrormask.negatives import Criterion, NegativeSource, count_of, negatives

MEANS, DEVIATIONS = ("batch", "zero"), ("batch", "one")


def moments(anchor: Tensor, *, mean: str = "batch", deviation: str = "batch") -> tuple[Tensor, Tensor]:
    """Return the mean and the standard deviation (d,) that the noise shall have.

    Args:
        anchor: sentence vectors (n, d).
        mean: `batch` takes the mean of the anchors, `zero` takes 0.
        deviation: `batch` takes that of each dimension over the anchors, `one` takes 1.
    """
    at = anchor.mean(dim=0) if mean == "batch" else torch.zeros_like(anchor[0])
    unbiased = 1 if len(anchor) > 1 else 0
    spread = anchor.std(dim=0, correction=unbiased) if deviation == "batch" else torch.ones_like(anchor[0])
    return at, spread


def gaussian_noise(anchor: Tensor, count: int, *, mean: str = "batch", deviation: str = "batch") -> Tensor:
    """Return `count` draws from N(mean, deviation²), each dimension for itself, as (count, d)."""
    at, spread = moments(anchor, mean=mean, deviation=deviation)
    return at + spread * torch.randn(count, anchor.shape[1], dtype=anchor.dtype, device=anchor.device)


@negatives.register("gaussian")
class Gaussian(NegativeSource):
    """Draw noise that looks like the batch in the mean and the deviation of every dimension.

    Args:
        multiple: negatives to draw, as a multiple of the batch size.
        mean: `batch` or `zero`.
        deviation: `batch` or `one`.
        detach: keep the gradient from flowing into the anchors through mean and deviation.

    Relations: `mean="zero", deviation="one"` is GS-InfoNCE; `covariance` also keeps what dimensions share.

    Example:
        >>> step = Step(torch.eye(4), torch.eye(4))
        >>> tuple(Gaussian(multiple=2.5).draw(step, torch.sum).shape)
        (10, 4)
    """

    def __init__(
        self, multiple: float = 1.0, mean: str = "batch", deviation: str = "batch", detach: bool = True
    ) -> None:
        super().__init__()
        self.multiple = above("multiple", multiple, 0, of="gaussian")
        self.mean = one_of("mean", mean, MEANS, of="gaussian")
        self.deviation = one_of("deviation", deviation, DEVIATIONS, of="gaussian")
        self.detach = detach

    def draw(self, step: Step, criterion: Criterion) -> Tensor:
        """Return the noise (m, d)."""
        anchor = step.anchor.detach() if self.detach else step.anchor
        return gaussian_noise(anchor, count_of(self.multiple, len(anchor)), mean=self.mean, deviation=self.deviation)
