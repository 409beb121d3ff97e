"""Semantic contrast: a sentence is nearer to what means the same than to what looks the same.

Paper: Wang et al. 2021, "CLINE: Contrastive Learning with Semantic Negative Examples for Natural Language
    Understanding", Section 3.2, the loss L_SEC

    loss = mean_i -log( exp(s(h_i, h_i_syn)) / (exp(s(h_i, h_i_syn)) + exp(s(h_i, h_i_ant))) ),  s the dot product
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.objectives import Objective, objectives


@objectives.register("semantic-contrast")
class SemanticContrast(Objective):
    """Choose the positive of each sentence before its own hard negatives; other sentences have no part in it.

    Args:
        dot: compare by dot products, as published; without it by cosines.
        temperature: what they are divided by.

    Relations: `info-nce` has the other sentences as negatives too. Without hard negatives they are those here.

    Example:
        >>> step = Step(torch.eye(2), torch.eye(2), hard=torch.zeros(2, 1, 2))
        >>> round(SemanticContrast()(step).item(), 4)  # log(1 + exp(-1))
        0.3133
    """

    in_batch = True

    def __init__(self, dot: bool = True, temperature: float = 1.0) -> None:
        super().__init__()
        self.dot = dot
        self.temperature = above("temperature", temperature, 0, of="semantic-contrast")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; extra negatives have no part in it."""
        anchor, positive, hard = step.anchor, step.positive, step.hard
        if hard is None:
            n = len(anchor)
            others = ~torch.eye(n, dtype=torch.bool, device=anchor.device)
            hard = positive.expand(n, n, -1)[others].view(n, n - 1, -1)
        candidates = torch.cat([positive[:, None], hard], dim=1)  # (n, 1 + k, d)
        if not self.dot:
            anchor, candidates = F.normalize(anchor, dim=-1), F.normalize(candidates, dim=-1)
        scores = (candidates @ anchor[:, :, None])[:, :, 0] / self.temperature
        return -F.log_softmax(scores, dim=1)[:, 0].mean()
