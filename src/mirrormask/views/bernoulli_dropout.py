"""Bernoulli dropout at the word embeddings, besides the dropout the encoder has.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.2; Yan et al. 2021, "ConSERT" (dropout at the embedding layer)

    x' = x * m / (1 - rate),  m ~ Bernoulli(1 - rate) for every element
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def drop_elements(x: Tensor, rate: float) -> Tensor:
    """Return `x` with a share `rate` of its elements at zero and the rest scaled up."""
    return F.dropout(x, rate, training=True)


@views.register("bernoulli-dropout")
class BernoulliDropout(View):
    """Drop single elements of the word embeddings.

    Args:
        rate: share of elements that are dropped (Section 4.1.2 takes 0.1).

    Relations: `dropout` is the encoder's own, in all its layers; `feature-dropout` drops whole dimensions.

    Example:
        >>> BernoulliDropout().rate
        0.1
    """

    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="bernoulli-dropout")

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return word embeddings with elements dropped."""
        return drop_elements(x, self.rate)
