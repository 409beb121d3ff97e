"""Supervised contrast: every text of a class is a positive of every other.

Paper: Khosla et al. 2020, "Supervised Contrastive Learning", Eq. 2; Gunel et al. 2021, "Supervised Contrastive Learning
    for Pre-trained Language Model Fine-tuning", Eq. 3

    loss_i = -1/|P(i)| sum_{p in P(i)} log( exp(cos(h_i, h_p) / t) / sum_{k != i} exp(cos(h_i, h_k) / t) )

The mean is over the anchors that have a positive; an anchor without one teaches nothing and is no division by zero.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.core.similarity import cosine
from mirrormask.objectives import Objective, objectives


def same_class(labels: Tensor) -> Tensor:
    """Return which rows are positives of each other (n, n), a row not of itself.

    Args:
        labels: class of each row (n,); or (n, classes), 1 where a row has a class: rows that share one are positives.

    Example:
        >>> same_class(torch.tensor([0, 1, 0])).int().tolist()
        [[0, 0, 1], [0, 0, 0], [1, 0, 0]]
    """
    same = labels.float() @ labels.float().T > 0 if labels.ndim == 2 else labels == labels[:, None]
    return same & ~torch.eye(len(labels), dtype=torch.bool, device=labels.device)


def sup_con(vectors: Tensor, same: Tensor, *, temperature: float, extra: Tensor | None = None) -> Tensor:
    """Return the mean over anchors of how badly they find the rows of their class among all others.

    Args:
        vectors: sentence vectors (n, d).
        same: which rows are positives of each other (n, n), as `same_class` returns them.
        temperature: what cosines are divided by.
        extra: negatives of all anchors besides the batch (m, d).
    """
    counts = same.sum(dim=1)
    if len(vectors) < 2:
        return vectors.sum() * 0
    candidates = vectors if extra is None else torch.cat([vectors, extra])
    scores = cosine(vectors, candidates) / temperature  # (n, n + m)
    itself = torch.eye(*scores.shape, dtype=torch.bool, device=scores.device)
    logs = F.log_softmax(scores.masked_fill(itself, -torch.inf), dim=1)[:, : len(vectors)]
    losses = -logs.masked_fill(~same, 0).sum(dim=1) / counts.clamp(min=1)
    return losses.sum() / (counts > 0).sum().clamp(min=1)


@objectives.register("sup-con")
class SupCon(Objective):
    """Pull together the texts of a class, and push the others away.

    Where the batch has no labels, a text's own second view is its only positive.

    Args:
        temperature: what cosines are divided by (Gunel et al. choose 0.3 for most tasks).

    Relations: without labels it is SimCLR's loss; `mirror-nce` is that over two views; `lcl` of `classify` weights the
        negatives by how easily their classes are confused.

    Example:
        >>> import torch
        >>> from mirrormask.core.batch import Step
        >>> vectors = torch.eye(3)[[0, 1, 0, 1]]
        >>> round(SupCon(temperature=1.0)(Step(vectors, vectors, labels=torch.tensor([0, 1, 0, 1]))).item(), 4)
        1.4977
    """

    in_batch = True

    def __init__(self, temperature: float = 0.3) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="sup-con")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; the two views of a text are two texts of its class."""
        labels = step.labels
        if labels is None:
            labels = torch.arange(len(step.anchor), device=step.anchor.device)
        vectors = torch.cat([step.anchor, step.positive])
        return sup_con(vectors, same_class(torch.cat([labels, labels])), temperature=self.temperature, extra=step.extra)
