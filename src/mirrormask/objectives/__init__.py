"""Objectives: one file per formula. An objective turns a `Step` into a scalar; `+` and `*` compose."""

from __future__ import annotations

from torch import Tensor, nn

from mirrormask.core.batch import Step
from mirrormask.core.registry import Registry


class Objective(nn.Module):
    """A loss over one step: ``InfoNCE(0.05) + 0.1 * Other()`` is an objective too."""

    in_batch = False
    """Whether the other rows of the batch are its negatives, so that a batch of one row teaches nothing."""

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step."""
        raise TypeError(f"{type(self).__name__} defines no forward.")

    def __add__(self, other: Objective) -> Objective:
        return WeightedSum([self, other], [1.0, 1.0])

    def __rmul__(self, weight: float) -> Objective:
        return WeightedSum([self], [weight])


class WeightedSum(Objective):
    """Several objectives added with weights.

    Args:
        terms: the objectives.
        weights: one weight each.
    """

    def __init__(self, terms: list[Objective], weights: list[float]) -> None:
        super().__init__()
        self.terms = nn.ModuleList(terms)
        self.weights = weights
        self.in_batch = any(term.in_batch for term in terms)

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the terms."""
        losses = [weight * term(step) for term, weight in zip(self.terms, self.weights, strict=True)]
        total: Tensor = sum(losses[1:], losses[0])
        return total


objectives: Registry[Objective] = Registry("objective", __name__)
