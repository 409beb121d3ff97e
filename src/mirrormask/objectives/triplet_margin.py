"""Triplet margin: an anchor is nearer to its positive than to its negative, by a margin.

Paper: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", Section 3, "Triplet
    Objective Function"

    loss = mean_i max(||a_i - p_i|| - ||a_i - n_i|| + margin, 0),  Euclidean distances
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.objectives import Objective, objectives


def triplet_margin(anchor: Tensor, positive: Tensor, negatives: Tensor, *, margin: float) -> Tensor:
    """Return the mean hinge over every anchor's negatives.

    Args:
        anchor, positive: sentence vectors (n, d).
        negatives: of each anchor (n, k, d).
        margin: how much nearer the positive shall be.
    """
    near = F.pairwise_distance(anchor, positive, eps=0.0)
    far = F.pairwise_distance(anchor[:, None], negatives, eps=0.0)
    return F.relu(near[:, None] - far + margin).mean()


@objectives.register("triplet-margin")
class TripletMargin(Objective):
    """Let an anchor be nearer to its positive than to its negatives, by a margin.

    Args:
        margin: how much nearer (Section 3: "we set epsilon = 1 in our experiments").

    Relations: the negatives are the hard negatives of a row, or where it has none the positives of the other rows.
        Equal to sentence-transformers' `TripletLoss` with this margin (its own default is 5).

    Example:
        >>> import torch
        >>> step = Step(torch.eye(2), torch.eye(2), hard=torch.zeros(2, 1, 2))
        >>> TripletMargin(margin=1.5)(step).item()  # 0 - 1 + 1.5
        0.5
    """

    in_batch = True

    def __init__(self, margin: float = 1.0) -> None:
        super().__init__()
        self.margin = above("margin", margin, 0, of="triplet-margin")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; extra negatives have no part in it."""
        negatives = step.hard
        if negatives is None:
            n = len(step.anchor)
            others = ~torch.eye(n, dtype=torch.bool, device=step.anchor.device)
            negatives = step.positive.expand(n, n, -1)[others].view(n, n - 1, -1)
        return triplet_margin(step.anchor, step.positive, negatives, margin=self.margin)
