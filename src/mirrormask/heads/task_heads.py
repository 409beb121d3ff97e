"""Heads of tasks that are learned together: classes of a text, whether two texts mean the same, and how near they are.

Paper: Hu 2023, "BERT-CF: Contrastive Flows for MultiTask-BERT", Section 4.3; the cosine embedding loss of Wilkinson and
    Brun 2016, "Semantic and Verbatim Word Spotting Using Deep Neural Networks"

    paraphrase  s = cos(W u, W v),  loss = 1 - s for a pair that means the same, max(s, h) - h for one that does not;
                predicted where s >= (1 + h) / 2
    similarity  y = max(cos(W u, W v), h),  loss = (y - label on [h, 1])²,  predicted (y - h) / (1 - h) on the scale

The report prints max(s, h) in place of s for both, so that a paraphrase whose cosine is below the hinge has no gradient
and is never learned: that is the named choice `faithful`.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.heads.classifier import build_head
from mirrormask.heads.task_specs import Task

DROPOUTS = {"classification": 0.3, "paraphrase": 0.0, "similarity": 0.1}
HINGES = {"paraphrase": 0.7, "similarity": 0.0}
"""Section 5.3."""


class TaskHead(nn.Module):
    """A head on the vectors of one or two texts."""

    @abstractmethod
    def loss(self, vectors: list[Tensor], labels: Tensor) -> Tensor:
        """Return the loss of a batch: vectors (n, d) of each column, labels (n,)."""

    @abstractmethod
    def predict(self, vectors: list[Tensor]) -> Tensor:
        """Return what is predicted (n,): the number of a class, 0 or 1, or a similarity on its scale."""

    def score(self, predicted: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
        """Return how good predictions are: accuracy, unless a head says otherwise."""
        return float((predicted == labels).mean())


class ClassHead(TaskHead):
    """Tell the class of a text.

    Args:
        width: of a vector.
        classes: how many.
        dropout: before the linear layer.
    """

    def __init__(self, width: int, classes: int, dropout: float) -> None:
        super().__init__()
        self.head = build_head("linear", width, classes, dropout=dropout)

    def loss(self, vectors: list[Tensor], labels: Tensor) -> Tensor:
        """Return the cross-entropy."""
        return F.cross_entropy(self.head(vectors[0]), labels)

    def predict(self, vectors: list[Tensor]) -> Tensor:
        """Return the number of the likeliest class."""
        found: Tensor = self.head(vectors[0]).argmax(dim=1)
        return found


class PairHead(TaskHead):
    """Compare two texts by the cosine of their projections.

    Args:
        width: of a vector.
        projection: of what they are projected to.
        hinge: cosines below count as it.
        dropout: before the projection.
    """

    def __init__(self, width: int, projection: int, hinge: float, dropout: float) -> None:
        super().__init__()
        self.project = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, projection))
        self.hinge = hinge

    def cosines(self, vectors: list[Tensor]) -> Tensor:
        """Return the cosine of each pair (n,), as it is."""
        return F.cosine_similarity(self.project(vectors[0]), self.project(vectors[1]), dim=-1)


class ParaphraseHead(PairHead):
    """Say whether two texts mean the same.

    Args:
        width, projection, hinge, dropout: as of `PairHead`.
        faithful: clamp the cosine of paraphrases too, as the report prints it.
    """

    def __init__(self, width: int, projection: int, hinge: float, dropout: float, *, faithful: bool = False) -> None:
        super().__init__(width, projection, hinge, dropout)
        self.faithful = faithful

    def loss(self, vectors: list[Tensor], labels: Tensor) -> Tensor:
        """Return the cosine embedding loss."""
        return paraphrase_loss(self.cosines(vectors), labels, hinge=self.hinge, faithful=self.faithful)

    def predict(self, vectors: list[Tensor]) -> Tensor:
        """Return 1 where the cosine reaches the middle between hinge and 1, else 0."""
        return (self.cosines(vectors) >= (1 + self.hinge) / 2).long()


class SimilarityHead(PairHead):
    """Say how alike two texts are.

    Args:
        width, projection, hinge, dropout: as of `PairHead`.
        scale: lowest and highest label.
    """

    def __init__(
        self, width: int, projection: int, hinge: float, dropout: float, *, scale: tuple[float, float] = (0.0, 5.0)
    ) -> None:
        super().__init__(width, projection, hinge, dropout)
        self.scale = scale

    def loss(self, vectors: list[Tensor], labels: Tensor) -> Tensor:
        """Return the mean squared error against the labels, brought to [hinge, 1]."""
        low, high = self.scale
        aimed = self.hinge + (1 - self.hinge) * (labels - low) / (high - low)
        return F.mse_loss(self.cosines(vectors).clamp(min=self.hinge), aimed)

    def predict(self, vectors: list[Tensor]) -> Tensor:
        """Return the similarity on the scale of the labels."""
        low, high = self.scale
        share = (self.cosines(vectors).clamp(min=self.hinge) - self.hinge) / (1 - self.hinge)
        return low + (high - low) * share

    def score(self, predicted: NDArray[np.float64], labels: NDArray[np.float64]) -> float:
        """Return Pearson's correlation; 0 where all predictions, or all labels, are the same."""
        if np.ptp(predicted) == 0 or np.ptp(labels) == 0:
            return 0.0
        return float(np.corrcoef(predicted, labels)[0, 1])


def paraphrase_loss(cosines: Tensor, labels: Tensor, *, hinge: float, faithful: bool = False) -> Tensor:
    """Return the cosine embedding loss over cosines (n,) with labels 0 and 1 (n,).

    Example:
        >>> paraphrase_loss(torch.tensor([0.5, 0.8]), torch.tensor([1.0, 0.0]), hinge=0.7).item().__round__(4)
        0.3
        >>> paraphrase_loss(torch.tensor([0.5, 0.8]), torch.tensor([1.0, 0.0]), hinge=0.7, faithful=True).item()
        0.2000000...
    """
    clamped = cosines.clamp(min=hinge)
    near = 1 - (clamped if faithful else cosines)
    return torch.where(labels > 0.5, near, clamped - hinge).mean()


def head_of(task: Task, width: int, classes: int) -> TaskHead:
    """Return a fresh head for a task on vectors of so many numbers."""
    dropout = DROPOUTS[task.kind] if task.dropout is None else task.dropout
    if task.kind == "classification":
        return ClassHead(width, classes, dropout)
    hinge, projection = HINGES[task.kind] if task.hinge is None else task.hinge, task.projection or width
    if task.kind == "paraphrase":
        return ParaphraseHead(width, projection, hinge, dropout, faithful=task.faithful)
    return SimilarityHead(width, projection, hinge, dropout, scale=task.scale)
