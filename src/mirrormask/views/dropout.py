"""Dropout: the same sentence through the encoder again, with other units dropped.

Paper: Gao et al. 2021, "SimCSE", Section 3
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch import nn

from mirrormask.core.errors import between
from mirrormask.views import View, views


@views.register("dropout")
class Dropout(View):
    """Draw the encoder's own dropout once more.

    Args:
        rate: a rate for all dropout layers instead of the model's own.

    Relations: two of these are SimCSE's views and run as one forward.

    Example:
        >>> Dropout(rate=0.2).rate
        0.2
    """

    def __init__(self, rate: float | None = None) -> None:
        super().__init__()
        self.rate = None if rate is None else between("rate", rate, 0, 1, of="dropout")

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        return "plain" if self.rate is None else f"dropout {self.rate}"

    def forward_with(self, encoder: Any) -> contextlib.AbstractContextManager[Any]:
        """Set the rate for the forward, then put the model's own back."""
        return contextlib.nullcontext() if self.rate is None else _rate(encoder, self.rate)


@contextlib.contextmanager
def _rate(encoder: nn.Module, rate: float) -> Iterator[None]:
    layers = [m for m in encoder.modules() if isinstance(m, nn.Dropout)]
    before = [layer.p for layer in layers]
    for layer in layers:
        layer.p = rate
    try:
        yield
    finally:
        for layer, old in zip(layers, before, strict=True):
            layer.p = old
