"""Pair classification: which relation two sentences have, told from both vectors and their difference.

Paper: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", Section 3,
    "Classification Objective Function"; Conneau et al. 2017, "Supervised Learning of Universal Sentence
    Representations from Natural Language Inference Data" (InferSent) adds the product

    o = softmax(W_t (u, v, |u - v|)),  W_t in R^(3n x k);  loss = mean_i -log o_i[y_i]

W_t is trained beside the encoder and not kept.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError, at_least
from mirrormask.objectives import Objective, objectives


def pair_features(u: Tensor, v: Tensor, *, product: bool = False) -> Tensor:
    """Return what is known about each pair (n, 3d), or with the product (n, 4d).

    Args:
        u, v: sentence vectors (n, d).
        product: u * v as well.
    """
    return torch.cat([u, v, (u - v).abs(), *([u * v] if product else [])], dim=1)


@objectives.register("pair-classification")
class PairClassification(Objective):
    """Tell the relation of two sentences from their vectors: a softmax over (u, v, |u - v|).

    Args:
        classes: how many relations there are: entailment, contradiction and neutral are three.
        product: u * v beside them, as in InferSent.

    Relations: `cosine-regression` learns how alike a pair is, `triplet-margin` which of two is nearer. Equal to
        sentence-transformers' `SoftmaxLoss`.

    Example:
        >>> PairClassification(classes=2).classes
        2
    """

    def __init__(self, classes: int = 3, product: bool = False) -> None:
        super().__init__()
        self.classes = at_least("classes", classes, 2, of="pair-classification")
        self.product = product
        self.classifier: nn.Linear | None = None

    def attach(self, encoder: Any) -> None:
        """Make the classifier, as wide as the encoder's vectors ask for."""
        wide = encoder.get_embedding_dimension() * (4 if self.product else 3)
        self.classifier = nn.Linear(wide, self.classes, bias=False)

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        if self.classifier is None:
            raise MirrormaskError("The objective pair-classification must be attached to an encoder before training.")
        if step.labels is None or step.labels.is_floating_point():
            raise MirrormaskError(
                "The objective pair-classification needs the relation of each pair. Take the pairing labelled-pairs."
            )
        return F.cross_entropy(
            self.classifier(pair_features(step.anchor, step.positive, product=self.product)), step.labels
        )
