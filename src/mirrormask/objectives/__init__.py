"""Objectives: one file per formula. An objective turns a `Step` into a scalar; `+` and `*` compose."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Batch, Step, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.registry import Registry
from mirrormask.data.text.tokens import Tokenized


@dataclass(frozen=True)
class Ask:
    """Token states that an objective wants of this process's rows.

    Args:
        rows: what the encoder is shown, with what is hidden hidden.
        positions: for each row, the positions whose states are wanted.
        answers: what stands there in truth, row after row (total,).
        network: what the rows go through, with a transformer at 0 as the encoder has; None is the encoder.
        given: roles whose projected vectors stand in place of the first token's embedding, those of the first role for
            the first rows, and so on.
    """

    rows: Tokens
    positions: tuple[NDArray[np.int64], ...]
    answers: Tensor
    network: Any = None
    given: tuple[int, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What the encoder made of this process's rows of one role in the forward of its view.

    Args:
        vectors: of the rows (n, d), before a head and without those of other processes.
        states: token states at the positions asked for, row after row (total, d), as the pooling gets them.
    """

    vectors: Tensor
    states: Tensor


class Objective(nn.Module):
    """A loss over one step: ``InfoNCE(0.05) + 0.1 * Other()`` is an objective too."""

    columns = 1
    """The fewest columns of text that it learns from."""

    in_batch = False
    """Whether the other rows of the batch are its negatives, so that a batch of one row teaches nothing."""

    needs_encoder = False
    """Whether it asks for token states besides the vectors; otherwise it is a function of the step alone."""

    reads_views = False
    """Whether it reads what the views' own forwards made of this process's rows, and so needs none of its own."""

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

    def parts_of(self) -> list[tuple[float, Objective]]:
        """Return the objectives that this one adds up, each with its weight."""
        return [(1.0, self)]

    def ask(self, batch: Batch) -> Ask:
        """Return what the encoder shall run on besides the views, where `needs_encoder` says so.

        The method runs it: in shards, in parts that fit into memory, through compiled code.
        """
        raise TypeError(f"{type(self).__name__} asks for nothing.")

    def answered(self, ask: Ask, states: Tensor) -> Tensor:
        """Return the loss of what was asked for.

        Args:
            ask: what `ask` returned.
            states: of the last layer, at the positions asked for, row after row (total, d).
        """
        raise TypeError(f"{type(self).__name__} asks for nothing.")

    def show(self, batch: Batch) -> dict[int, Ask]:
        """Return which rows the views shall see, by role, and where token states are wanted, if `reads_views` says so.

        Role 0 is the anchor, 1 the positive, further ones are hard negatives. A view that rewrites rows may stand only
        where no states are wanted.
        """
        raise TypeError(f"{type(self).__name__} reads no views.")

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        """Return the loss of what the encoder made of the rows that `show` returned."""
        raise TypeError(f"{type(self).__name__} reads no views.")

    def lm_head(self) -> dict[str, Tensor] | None:
        """Return the weights of an LM head that was trained and belongs to the encoder, to be saved with it."""
        return None

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

    def parts_of(self) -> list[tuple[float, Objective]]:
        """Return the objectives in all sums, each with its weight."""
        found = zip(self.terms, self.weights, strict=True)
        return [(weight * inner, part) for term, weight in found for inner, part in term.parts_of()]

    def lm_head(self) -> dict[str, Tensor] | None:
        """Return the LM head of the first term that trained one."""
        return next((head for term in self.terms if (head := term.lm_head()) is not None), None)

    def forward(self, step: Step) -> Tensor:
        """Return the weighted sum of the terms."""
        losses = [weight * term(step) for term, weight in zip(self.terms, self.weights, strict=True)]
        total: Tensor = sum(losses[1:], losses[0])
        return total


objectives: Registry[Objective] = Registry("objective", __name__)
