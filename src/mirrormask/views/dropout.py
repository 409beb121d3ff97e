"""Dropout: the same sentence through the encoder again, with other units dropped.

Paper: Gao et al. 2021, "SimCSE", Section 3
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn

from mirrormask.core.errors import MirrormaskError, between
from mirrormask.views import View, views


@views.register("dropout")
class Dropout(View):
    """Draw the encoder's own dropout once more.

    Args:
        rate: a rate for all dropout instead of the model's own; a model without any of its own, such as ModernBERT,
            needs one.

    Relations: two of these are SimCSE's views and run as one forward.

    Example:
        >>> Dropout(rate=0.2).rate
        0.2
    """

    def __init__(self, rate: float | None = None) -> None:
        super().__init__()
        self.rate = None if rate is None else between("rate", rate, 0, 1, of="dropout")

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Refuse a rate where the model has nothing to set it on."""
        if self.rate and not _places(encoder):
            raise MirrormaskError(
                "The view dropout has a 'rate', and this model has no dropout to set it on. Use another view, such as "
                "word-deletion or gaussian-noise."
            )

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        return "plain" if self.rate is None else f"dropout {self.rate}"

    def forward_with(self, encoder: Any) -> contextlib.AbstractContextManager[Any]:
        """Set the rate for the forward, then put the model's own back."""
        return contextlib.nullcontext() if self.rate is None else _rate(encoder, self.rate)


def _places(encoder: nn.Module) -> list[tuple[nn.Module, str]]:
    """Return each module that drops something, and which of its attributes is the rate.

    Attention often has no layer for it, only a number, such as the `attention_dropout` of ModernBERT.
    """
    found: list[tuple[nn.Module, str]] = []
    for module in encoder.modules():
        if isinstance(module, nn.Dropout):
            found.append((module, "p"))
        found += [(module, n) for n, v in vars(module).items() if "dropout" in n and type(v) in (int, float)]
    return found


@contextlib.contextmanager
def _rate(encoder: nn.Module, rate: float) -> Iterator[None]:
    places = _places(encoder)
    before = [getattr(module, name) for module, name in places]
    for module, name in places:
        setattr(module, name, rate)
    try:
        yield
    finally:
        for (module, name), old in zip(places, before, strict=True):
            setattr(module, name, old)
