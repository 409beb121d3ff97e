"""A twin: a second encoder that starts as the first and is trained beside it.

Paper: Carlsson et al. 2021, "Semantic Re-tuning with Contrastive Tension": two models of the same start,
    which part because they see different sides of the pairs

    anchor = f_1(x),  positive = f_2(x),  both trained

The encoder that is saved is the first; the twin exists in training only.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from mirrormask.models.copies import copy_of
from mirrormask.views import View, views


@views.register("twin")
class Twin(View):
    """See the sentence with a second, trained encoder.

    Relations: `momentum` follows the first encoder instead of being trained; with the objective `contrastive-tension`
        it is CT.

    Example:
        >>> Twin().encoder_of("the trained one") is None  # until it is attached to a method
        True
    """

    def __init__(self) -> None:
        super().__init__()
        self.encoder: Any = None
        self.head: nn.Module | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Copy the encoder and its head."""
        self.encoder, self.head = copy_of(encoder), copy_of(head)

    def encoder_of(self, encoder: Any) -> Any:
        """Return the twin."""
        return self.encoder

    def head_of(self, head: nn.Module | None) -> nn.Module | None:
        """Return the twin's head."""
        return self.head

    @property
    def forward_key(self) -> str:
        """Return a key of its own: no other view has this twin."""
        return f"twin {id(self)}"
