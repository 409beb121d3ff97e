"""Span mask: a sentence with a few neighboring tokens hidden.

Paper: Hu 2023, "BERT-CF: Contrastive Flows for MultiTask-BERT", Sections 4.1 and 5.3, after Joshi et al. 2020,
    "SpanBERT: Improving Pre-training by Representing and Predicting Spans"; the idea of Liu et al. 2021, "Mirror-BERT"

    x' = x with x_s, ..., x_(s + l - 1) each a mask,  l = min(Geometric(stop), longest, tokens - 1),  s uniform
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.errors import MirrormaskError, above, at_least
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def mask_span(ids: Ids, mask_id: int, *, stop: float, longest: int, rng: np.random.Generator) -> Ids:
    """Return the ids with one span of them masked; one token always stays.

    Args:
        ids: token ids of a text, without its frame.
        mask_id: the mask token.
        stop: chance that the span ends after each of its tokens.
        longest: the most tokens that are masked.
        rng: where length and place come from.
    """
    length = min(int(rng.geometric(stop)), longest, len(ids) - 1)
    if length <= 0:
        return ids
    start = int(rng.integers(len(ids) - length, endpoint=True))
    found = ids.copy()
    found[start : start + length] = mask_id
    return found


def need_mask(encoder: Any, view: str) -> None:
    """Refuse an encoder whose tokenizer has no mask."""
    if encoder.tokenizer.mask_token_id is None:
        raise MirrormaskError(
            f"The view {view} needs a tokenizer with a mask token. Use a masked language model, or another view."
        )


@views.register("span-mask")
class SpanMask(View):
    """Mask one span of tokens, its length drawn anew for every text.

    Args:
        stop: chance that the span ends after each of its tokens (BERT-CF's p_g).
        longest: the most tokens that are masked; 0 masks nothing, which is SimCSE's view.

    Relations: `character-span-mask` is Mirror-BERT's own, which cuts words; `word-deletion` leaves no mask behind.

    Example:
        >>> SpanMask().longest
        5
    """

    def __init__(self, stop: float = 0.3, longest: int = 5) -> None:
        super().__init__()
        if above("stop", stop, 0, of="span-mask") > 1:
            raise MirrormaskError(f"The 'stop' of span-mask is a chance, so it must be at most 1. Got {stop!r}.")
        self.stop = stop
        self.longest = at_least("longest", longest, 0, of="span-mask")

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Refuse a tokenizer that has no mask."""
        need_mask(encoder, "span-mask")

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with a span masked in each; special tokens and prompts stay."""
        mask = vocabulary.mask_id
        if mask is None:
            return rows
        return rewrite_texts(
            rows, vocabulary, lambda ids: mask_span(ids, mask, stop=self.stop, longest=self.longest, rng=rng)
        )
