"""Gaussian dropout: every element of a word embedding times a number near one.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.2; Srivastava et al. 2014, "Dropout", Section 10 (multiplicative noise)

    x' = x * e,  e ~ N(1, sigma²)
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import above
from mirrormask.views import View, views


def multiply_noise(x: Tensor, sigma: float) -> Tensor:
    """Return `x` with every element times an independent draw of N(1, sigma²)."""
    return x * (1 + sigma * torch.randn_like(x))


@views.register("gaussian-dropout")
class GaussianDropout(View):
    """Multiply the word embeddings by Gaussian noise around one.

    Args:
        sigma: standard deviation of the noise (Section 4.1.2 takes 0.001).

    Relations: `gaussian-noise` adds instead; `bernoulli-dropout` multiplies by zero or one.

    Example:
        >>> GaussianDropout().sigma
        0.001
    """

    def __init__(self, sigma: float = 0.001) -> None:
        super().__init__()
        self.sigma = above("sigma", sigma, 0, of="gaussian-dropout")

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return scaled word embeddings."""
        return multiply_noise(x, self.sigma)
