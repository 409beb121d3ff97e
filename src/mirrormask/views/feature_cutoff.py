"""Feature cutoff: some dimensions of a sentence's embeddings vanish, the same in all its tokens.

Paper: Yan et al. 2021, "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation Transfer"
    ("Cutoff"); after Shen et al. 2020, "A Simple but Tough-to-Beat Data Augmentation Approach"

    x'_(t, j) = 0 for int(rate * d) random dimensions j of a sentence, else x_(t, j)

It works after positions and norm. Nothing is scaled up.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def cut_features(x: Tensor, rate: float) -> Tensor:
    """Return `x` (n, length, d) with int(rate * d) dimensions of each row at zero."""
    n, _, d = x.shape
    cut = torch.rand(n, d, device=x.device).argsort(dim=1).argsort(dim=1) < int(rate * d)  # (n, d)
    return x.masked_fill(cut[:, None], 0.0)


@views.register("feature-cutoff")
class FeatureCutoff(View):
    """Erase some dimensions of the input embeddings.

    Args:
        rate: share of the dimensions (the paper takes 0.2, best with token shuffle).

    Relations: `feature-dropout` draws each dimension for itself at the word embeddings; `token-cutoff` erases tokens.

    Example:
        >>> FeatureCutoff().rate
        0.2
    """

    def __init__(self, rate: float = 0.2) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="feature-cutoff")

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return input embeddings with dimensions erased."""
        return cut_features(x, self.rate)
