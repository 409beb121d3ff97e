"""Feature dropout: some dimensions of the word embedding vanish for a whole sentence.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.2, "Bernoulli dropout to feature dimension"; after Park et al. 2019,
    "SpecAugment"

    x'_(t, j) = x_(t, j) * m_j / (1 - rate),  m_j ~ Bernoulli(1 - rate), one draw per sentence and dimension
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def drop_features(x: Tensor, rate: float) -> Tensor:
    """Return `x` (n, length, d) with a share `rate` of each row's dimensions at zero and the rest scaled up."""
    keep = F.dropout(x.new_ones(len(x), 1, x.shape[-1]), rate, training=True)  # (n, 1, d)
    return x * keep


@views.register("feature-dropout")
class FeatureDropout(View):
    """Drop whole dimensions of the word embeddings, others for every sentence.

    Args:
        rate: share of dimensions that are dropped (Section 4.1.2 takes 0.1).

    Relations: `feature-cutoff` drops an exact number of them after positions and norm; `bernoulli-dropout` drops
        single elements.

    Example:
        >>> FeatureDropout().rate
        0.1
    """

    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="feature-dropout")

    def words(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return word embeddings with dimensions dropped."""
        return drop_features(x, self.rate)
