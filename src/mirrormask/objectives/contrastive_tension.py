"""Contrastive tension: two encoders agree on the same sentence and on no other.

Paper: Carlsson et al. 2021, "Semantic Re-tuning with Contrastive Tension", Eq. 2

    loss = -log s(a_i . p_i)       for a sentence with itself,
           -log(1 - s(a_i . p_j))  for K other sentences,  s the logistic function

averaged over the 1 + K pairs of each anchor. The paper draws the K others; here every other sentence of the batch
counts K / (n - 1), which is what such a draw is on average, without its chance. `drawn` takes the next K of the batch,
whose order is random: with K + 1 rows both are the same.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError, above
from mirrormask.objectives import Objective, objectives


def contrastive_tension(
    anchor: Tensor, positive: Tensor, *, negatives: float, extra: Tensor | None = None, drawn: bool = False
) -> Tensor:
    """Return the mean binary cross-entropy of telling an anchor's own sentence from others by their dot product.

    Args:
        anchor: sentence vectors (n, d) of the first encoder.
        positive: sentence vectors (n, d) of the second; row i belongs to anchor i.
        negatives: what all other sentences count together, against one positive.
        extra: further negatives (m, d).
        drawn: whether only so many of the others are taken, those that follow.
    """
    n = len(anchor)
    scores = anchor @ torch.cat([positive, positive[:0] if extra is None else extra]).T  # (n, n + m)
    own = torch.eye(n, scores.shape[1], dtype=torch.bool, device=scores.device)
    agree = F.softplus(-scores[own]).sum()
    if drawn:
        count = min(int(negatives), scores.shape[1] - 1)
        after = torch.arange(n, device=scores.device)[:, None] + torch.arange(1, count + 1, device=scores.device)
        return (agree + F.softplus(scores.gather(1, after % scores.shape[1])).sum()) / (n * (1 + count))
    differ = F.softplus(scores[~own]).sum() * negatives / max(1, scores.shape[1] - 1)
    return (agree + differ) / (n * (1 + negatives))


@objectives.register("contrastive-tension")
class ContrastiveTension(Objective):
    """Tell the same sentence from others by the dot product of two encoders.

    Args:
        negatives: other sentences per positive (the paper takes 7).
        drawn: take so many of the others, as the paper does, and not all of them with that weight together.

    Relations: it is made for the view `twin`; `info-nce` compares cosines by a softmax instead.

    Example:
        >>> import torch
        >>> from mirrormask.core.batch import Step
        >>> step = Step(torch.zeros(2, 3), torch.zeros(2, 3))
        >>> round(ContrastiveTension()(step).item(), 4)  # the logarithm of 2: nothing is told apart
        0.6931
    """

    in_batch = True

    def __init__(self, negatives: float = 7.0, drawn: bool = False) -> None:
        super().__init__()
        self.negatives = above("negatives", negatives, 0, of="contrastive-tension")
        self.drawn = drawn
        if drawn and negatives < 1:
            raise MirrormaskError(
                f"The 'negatives' of contrastive-tension must be at least 1 where they are drawn. Got {negatives!r}."
            )

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard negatives are negatives like all others."""
        more = [
            pool for pool in (None if step.hard is None else step.hard.flatten(0, 1), step.extra) if pool is not None
        ]
        extra = torch.cat(more) if more else None
        return contrastive_tension(step.anchor, step.positive, negatives=self.negatives, extra=extra, drawn=self.drawn)
