"""The average of the weights over the last updates, which is steadier and better than any one of them.

Polyak and Juditsky 1992, "Acceleration of stochastic approximation by averaging"; as an exponential average,
a_t = decay * a_(t-1) + (1 - decay) * w_t, starting from the weights before training.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn


class Average:
    """An exponential average of the open weights of a model.

    Args:
        model: whose weights to average.
        decay: how much of the average stays at an update; 0 keeps none, and averages nothing.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.names = [name for name, p in model.named_parameters() if p.requires_grad]
        self.live = [p for p in model.parameters() if p.requires_grad]
        self.values = [p.detach().clone() for p in self.live] if decay else []

    @torch.no_grad()
    def update(self) -> None:
        """Take in the weights as they are now."""
        if self.decay:
            torch._foreach_lerp_(self.values, [p.detach() for p in self.live], 1 - self.decay)

    @contextlib.contextmanager
    def applied(self) -> Iterator[None]:
        """Let the model have the average inside the block."""
        if not self.decay:
            yield
            return
        kept = [p.detach().clone() for p in self.live]
        self.apply()
        try:
            yield
        finally:
            _copy(kept, self.live)

    def apply(self) -> None:
        """Give the model the average for good."""
        if self.decay:
            _copy(self.values, self.live)

    def state(self) -> dict[str, Tensor]:
        """Return the average by name."""
        return dict(zip(self.names, self.values, strict=True)) if self.decay else {}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take what `state` gave."""
        if self.decay:
            _copy([state[name] for name in self.names], self.values)


class Between:
    """Weights on the straight way from a start to an end, which keep more of both than either has of the other.

    Wortsman et al. 2022, "Robust fine-tuning of zero-shot models": w = (1 - share) * start + share * end.

    Args:
        model: as it is at the start.
    """

    def __init__(self, model: nn.Module) -> None:
        self.live = [p for p in model.parameters() if p.requires_grad]
        self.start = [p.detach().clone() for p in self.live]
        self.end: list[Tensor] = []

    def ended(self) -> None:
        """Take the weights as they are now for the end."""
        self.end = [p.detach().clone() for p in self.live]

    def go(self, share: float) -> None:
        """Give the model the weights that lie a share of the way to the end."""
        _copy(self.start if not share else torch._foreach_lerp(self.start, self.end, share), self.live)


@torch.no_grad()
def _copy(source: Sequence[Tensor], target: Sequence[Tensor]) -> None:
    for value, place in zip(source, target, strict=True):
        place.copy_(value)
