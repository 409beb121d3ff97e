"""Cosine regression: the cosine of a pair is the score that people gave it.

Paper: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", Section 3,
    "Regression Objective Function"

    loss = mean_i (cos(u_i, v_i) - y_i)^2,  y_i in [0, 1]
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives import Objective, objectives


@objectives.register("cosine-regression")
class CosineRegression(Objective):
    """Let the cosine of two sentences be their score, by mean squared error.

    Relations: the scores come from the pairing `scored-pairs`. Equal to sentence-transformers' `CosineSimilarityLoss`.

    Example:
        >>> import torch
        >>> step = Step(torch.eye(2), torch.eye(2), labels=torch.tensor([1.0, 0.5]))
        >>> CosineRegression()(step).item()
        0.125
    """

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        if step.labels is None:
            raise MirrormaskError(
                "The objective cosine-regression needs the score of each pair. Take the pairing scored-pairs."
            )
        cosines = F.cosine_similarity(step.anchor, step.positive, dim=1)
        return F.mse_loss(cosines, step.labels.to(cosines.dtype))
