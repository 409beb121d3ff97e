"""Ranking consistency: a sentence ranks the others alike in both of its views.

Paper: Liu et al. 2023, "RankCSE: Unsupervised Sentence Representations Learning via Learning to Rank", Section 4.2

    S_i = (cos(a_i, p_j) / t)_j,  S'_i = (cos(p_i, a_j) / t)_j
    loss = mean_i JS(softmax(S_i) || softmax(S'_i)),  JS the Jensen-Shannon divergence
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.core.similarity import cosine
from mirrormask.objectives import Objective, objectives


def jensen_shannon(one: Tensor, other: Tensor) -> Tensor:
    """Return the mean divergence of the distributions with these logarithms (n, m)."""
    middle = torch.logaddexp(one, other) - torch.log(torch.tensor(2.0, dtype=one.dtype, device=one.device))
    return sum(F.kl_div(middle, each, log_target=True, reduction="batchmean") for each in (one, other)) / 2  # type: ignore[return-value]


@objectives.register("ranking-consistency")
class RankingConsistency(Objective):
    """Let both views of a sentence rank the batch alike.

    Args:
        temperature: of both distributions (tau_1, that of the contrastive loss).

    Relations: RankCSE adds it to `info-nce` and `ranking-distillation`.

    Example:
        >>> RankingConsistency()(Step(torch.eye(2), torch.eye(2))).item()
        0.0
    """

    in_batch = True

    def __init__(self, temperature: float = 0.05) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="ranking-consistency")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        scores = cosine(step.anchor, step.positive) / self.temperature
        return jensen_shannon(F.log_softmax(scores, dim=1), F.log_softmax(scores.T, dim=1))
