"""Gaussian noise injection: a little noise on every word embedding.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.2, "GNI"

    x' = x + sigma * e,  e ~ N(0, I)

It stands on top of the encoder's own dropout, as all views at the word embeddings do. The thesis speaks of the input
embedding, to which BERT adds positions and token types before its norm and its first dropout (Section 7.1): that is
the word embedding, and there these views work.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import above
from mirrormask.views import View, views


def add_noise(x: Tensor, sigma: float) -> Tensor:
    """Return `x` with independent N(0, sigma²) noise on every element."""
    return x + sigma * torch.randn_like(x)


@views.register("gaussian-noise")
class GaussianNoise(View):
    """Add Gaussian noise to the word embeddings.

    Args:
        sigma: standard deviation of the noise (Section 4.1.2 takes 0.001).

    Relations: `gaussian-dropout` multiplies instead; `fgsm` adds the worst direction instead of a random one.

    Example:
        >>> GaussianNoise().sigma
        0.001
    """

    def __init__(self, sigma: float = 0.001) -> None:
        super().__init__()
        self.sigma = above("sigma", sigma, 0, of="gaussian-noise")

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return noisy word embeddings."""
        return add_noise(x, self.sigma)
