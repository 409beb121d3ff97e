"""Token cutoff: some tokens of a sentence lose their whole embedding.

Paper: Yan et al. 2021, "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation Transfer"
    ("Cutoff"); after Shen et al. 2020, "A Simple but Tough-to-Beat Data Augmentation Approach"

    x'_t = 0 for int(rate * length) random tokens t of a sentence, else x_t

It works after positions and norm, on all tokens of a row, special ones too, as the published code does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def cut_tokens(x: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Return `x` (n, length, d) with int(rate * length) real tokens of each row at zero; mask is 1 at real tokens."""
    draws = torch.rand(mask.shape, device=x.device).masked_fill(mask == 0, 2.0)  # padding comes last
    rank = draws.argsort(dim=1).argsort(dim=1)  # (n, length)
    cut = rank < (rate * mask.sum(dim=1, keepdim=True)).floor()
    return x.masked_fill(cut[..., None], 0.0)


@views.register("token-cutoff")
class TokenCutoff(View):
    """Erase the embeddings of some tokens.

    Args:
        rate: share of the tokens of a sentence (the paper takes 0.15).

    Relations: `feature-cutoff` erases dimensions; `word-deletion` takes words out of the text.

    Example:
        >>> TokenCutoff().rate
        0.15
    """

    def __init__(self, rate: float = 0.15) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="token-cutoff")

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return input embeddings with tokens erased."""
        return cut_tokens(x, mask, self.rate)
