"""Soft negatives: InfoNCE, and hard negatives that are kept at a distance between two margins.

Paper: Wang et al. 2022, "SNCSE: Contrastive Learning for Unsupervised Sentence Embedding with Soft Negative Samples",
    the bidirectional margin loss (BML)

    d_i = cos(a_i, n_i) - cos(a_i, p_i)
    loss = InfoNCE(a, p) + weight * mean_i( max(0, d_i + near) + max(0, -d_i - far) )

so a soft negative is less similar than the positive, by `near` at least and by `far` at most. It is no candidate of the
InfoNCE.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError, above, at_least
from mirrormask.objectives import Objective, objectives
from mirrormask.objectives.info_nce import info_nce


def margins(anchor: Tensor, positive: Tensor, soft: Tensor, *, near: float, far: float) -> Tensor:
    """Return the mean bidirectional margin loss.

    Args:
        anchor: sentence vectors (n, d).
        positive: sentence vectors (n, d).
        soft: soft negatives (n, k, d) of each anchor.
        near: how much less similar than the positive they are at least.
        far: and at most.
    """
    own = torch.cosine_similarity(anchor, positive, dim=-1)[:, None]
    less = torch.cosine_similarity(anchor[:, None], soft, dim=-1) - own  # (n, k)
    return (torch.relu(less + near) + torch.relu(-less - far)).mean()


@objectives.register("soft-negatives")
class SoftNegatives(Objective):
    """In-batch contrast, with hard negatives that stay between two margins below the positive.

    Args:
        temperature: of the contrastive loss.
        near: alpha, how much less similar than the positive a soft negative is at least.
        far: beta, and at most.
        weight: lambda, of the margins (1e-3 for BERT, 5e-4 for RoBERTa in the published code).

    Relations: `info-nce` pushes hard negatives away like all others. The pairing `negation` makes soft ones.

    Example:
        >>> SoftNegatives().far
        0.3
    """

    in_batch = True

    def __init__(self, temperature: float = 0.05, near: float = 0.1, far: float = 0.3, weight: float = 1e-3) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="soft-negatives")
        self.near = at_least("near", near, 0, of="soft-negatives")
        self.far = at_least("far", far, 0, of="soft-negatives")
        if far < near:
            raise MirrormaskError(
                f"The 'far' of soft-negatives must be at least its 'near', {near!r}: between them a negative rests. "
                f"Got {far!r}."
            )
        self.weight = at_least("weight", weight, 0, of="soft-negatives")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step."""
        texts = None if step.text_ids is None else step.text_ids[:, :2]
        loss = info_nce(step.anchor, step.positive, temperature=self.temperature, extra=step.extra, text_ids=texts)
        if step.hard is None:
            return loss
        return loss + self.weight * margins(step.anchor, step.positive, step.hard, near=self.near, far=self.far)
