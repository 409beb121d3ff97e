"""Views: one file per way to make a second view of a sentence."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.registry import Registry, configuration


@dataclass(frozen=True)
class Vocabulary:
    """What a view that rewrites text knows about the tokenizer.

    Args:
        frame: the tokens around every text.
        word_starts: for each id of the vocabulary, whether it begins a word.
        mask_id: the mask token.
        special_ids: tokens that are never text.
    """

    frame: Frame
    word_starts: NDArray[np.bool_]
    mask_id: int | None
    special_ids: frozenset[int]


class View(nn.Module):
    """A way to see a sentence; a subclass overrides only the stage it works at.

    The method packs the rows of all views whose forward is the same into one pass.
    """

    needs_gradient = False
    """Whether the method must first hand in the gradient of the criterion."""

    shares_forward = False
    """Whether the view works on the vectors of the other view's forward and needs none of its own."""

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with other tokens: masks, deletions, repetitions."""
        return rows

    def embeddings(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return changed input embeddings (n, length, d); mask is 1 at real tokens."""
        return x

    def forward_with(self, encoder: Any) -> contextlib.AbstractContextManager[Any]:
        """Return the context in which the encoder runs: another dropout rate, a dropped head, a twin."""
        return contextlib.nullcontext()

    def output(self, z: Tensor) -> Tensor:
        """Return changed sentence vectors (n, d)."""
        return z

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        kind = type(self)
        if kind.embeddings is View.embeddings and kind.forward_with is View.forward_with:
            return "plain"
        return str(configuration(self))


views: Registry[View] = Registry("view", __name__)
