"""Objectives: one file per formula. An objective turns a `Step` into a scalar; `+` and `*` compose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.registry import Registry
from mirrormask.data.text.tokens import Tokenized


class Objective(nn.Module):
    """A loss over one step: ``InfoNCE(0.05) + 0.1 * Other()`` is an objective too."""

    in_batch = False
    """Whether the other rows of the batch are its negatives, so that a batch of one row teaches nothing."""

    needs_encoder = False
    """Whether it runs the encoder on the batch's tokens; otherwise it is a function of the step's vectors alone."""

    needs_target = False
    """Whether it compares vectors with a target that `target` makes from the tokens of a row."""

    def attach(self, encoder: Any) -> None:
        """Make what the objective needs from the encoder to be trained, once, before training."""

    def read(self, tokens: Tokenized, device: torch.device | str = "cpu") -> None:
        """Learn what the objective needs from the text, once, before training.

        Args:
            tokens: the text.
            device: where heavy work is done.
        """

    def target(self, rows: Tokens) -> Tensor:
        """Return what the vector of each row is compared with (n, k), where `needs_target` says so."""
        raise TypeError(f"{type(self).__name__} has no targets.")

    def split(self) -> tuple[Objective | None, Objective | None]:
        """Return the part that is a function of the vectors alone, and the part that runs the encoder."""
        return (None, self) if self.needs_encoder else (self, None)

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
        self.parts = nn.ModuleList(terms)
        self.weights = weights
        self.in_batch = any(term.in_batch for term in terms)
        self.needs_encoder = any(term.needs_encoder for term in terms)
        self.needs_target = any(term.needs_target for term in terms)
        if sum(term.needs_target for term in terms) > 1:
            raise MirrormaskError("Only one of several objectives may compare vectors with targets.")

    @property
    def terms(self) -> list[Objective]:
        """Return the objectives, in their order."""
        return list(self.parts)  # type: ignore[arg-type]

    def attach(self, encoder: Any) -> None:
        """Attach every term."""
        for term in self.terms:
            term.attach(encoder)

    def read(self, tokens: Tokenized, device: torch.device | str = "cpu") -> None:
        """Let every term read the text."""
        for term in self.terms:
            term.read(tokens, device)

    def target(self, rows: Tokens) -> Tensor:
        """Return the targets of the term that has them."""
        return next(term for term in self.terms if term.needs_target).target(rows)

    def split(self) -> tuple[Objective | None, Objective | None]:
        """Return the sum of the terms' parts of the one kind, and of the other."""
        parts = zip(*(term.split() for term in self.terms), strict=True)
        return tuple(self._sum(each) for each in parts)  # type: ignore[return-value]

    def _sum(self, parts: Sequence[Objective | None]) -> Objective | None:
        kept = [(part, weight) for part, weight in zip(parts, self.weights, strict=True) if part is not None]
        return WeightedSum([part for part, _ in kept], [weight for _, weight in kept]) if kept else None

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the terms."""
        losses = [weight * term(step) for term, weight in zip(self.terms, self.weights, strict=True)]
        total: Tensor = sum(losses[1:], losses[0])
        return total


objectives: Registry[Objective] = Registry("objective", __name__)
