"""Heads that exist in training only: what a paper puts on the sentence vector before its loss, and drops afterwards."""

from __future__ import annotations

from torch import Tensor, nn


def mlp(width: int) -> nn.Module:
    """Return Linear and Tanh.

    Paper: Gao et al. 2021, "SimCSE", Section 6.3
    """
    return nn.Sequential(nn.Linear(width, width), nn.Tanh())


def batch_norm(width: int) -> nn.Module:
    """Return two linear layers, each under a BatchNorm: d -> 2d with ReLU -> d, the last without scale and shift.

    Paper: Chuang et al. 2022, "DiffCSE", the projector, as its code has it
    """
    return nn.Sequential(
        nn.Linear(width, 2 * width, bias=False),
        nn.BatchNorm1d(2 * width),
        nn.ReLU(),
        nn.Linear(2 * width, width, bias=False),
        nn.BatchNorm1d(width, affine=False),
    )


class Predicted(nn.Module):
    """A projection, and on top of it a predictor that only the trained side has; a slow copy copies the projection.

    Args:
        projection: of both sides.
        predictor: of the side that is trained.
    """

    def __init__(self, projection: nn.Module, predictor: nn.Module) -> None:
        super().__init__()
        self.projection = projection
        self.predictor = predictor

    def forward(self, vectors: Tensor) -> Tensor:
        """Return what the trained side predicts (n, d)."""
        predicted: Tensor = self.predictor(self.projection(vectors))
        return predicted


def predictor(width: int) -> Predicted:
    """Return a linear pooler and a projection with LayerNorm and dropout, and a predictor of two layers with Tanh.

    Paper: Cao et al. 2022, "Exploring the Impact of Negative Samples of Contrastive Learning" (MoCoSE), as its code
        has it: one layer of projection, two of prediction
    """

    def normed() -> list[nn.Module]:
        return [nn.Linear(width, width), nn.LayerNorm(width), nn.Dropout(0.1)]

    projection = nn.Sequential(nn.Linear(width, width), *normed())
    return Predicted(projection, nn.Sequential(*normed(), nn.Linear(width, width), nn.Tanh()))


def shared_part(head: nn.Module | None) -> nn.Module | None:
    """Return what a slow copy of the encoder has on top too: all of a head but its predictor."""
    return head.projection if isinstance(head, Predicted) else head
