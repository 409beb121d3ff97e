"""Rows of many short texts: a row of the stream is cut into its sentences, each framed and blind for the others.

A row of running text hides what a lone sentence looks like: a model that has seen nothing else guesses less of a text
of eight words. Here a row keeps its length, and so its cost: sentences stand side by side, each with its own special
tokens, its places counted from its own beginning, and attention only within it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from mirrormask.core.errors import ModelError

STOPS = frozenset(".!?。！？")
APART = 3
"""Stops with fewer tokens between them end no sentence: `u . s .`, `3 . 5 .`, three dots."""


class Singles(NamedTuple):
    """Rows of single sentences.

    Args:
        ids: the rows (n, length).
        places: where each token stands in its sentence (n, length).
        seen: whether a token sees another (n, 1, length, length).
    """

    ids: Tensor
    places: Tensor
    seen: Tensor


class SingleSentences:
    """Cuts framed rows into single sentences.

    Args:
        begin: the id before a text.
        end: the id after a text, which also ends the texts within a row.
        stops: for every id, whether it ends a sentence (vocabulary,).
    """

    def __init__(self, *, begin: int, end: int, stops: Tensor) -> None:
        self.begin, self.end, self.stops = begin, end, stops

    @classmethod
    def of(cls, tokenizer: Any, config: Any, device: torch.device) -> SingleSentences:
        """Return what cuts the rows of a tokenizer for a model of this configuration."""
        begin, end = tokenizer.cls_token_id, tokenizer.sep_token_id
        if begin is None or end is None or getattr(config, "_attn_implementation", "") != "sdpa":
            raise ModelError(
                "Rows of single sentences need a model with a token before and after a text and PyTorch's own "
                "attention (sdpa), as BERT has. Set 'singles' to 0."
            )
        tokens = tokenizer.convert_ids_to_tokens(list(range(len(tokenizer))))
        stops = torch.tensor([(token or "") in STOPS for token in tokens])
        return cls(begin=begin, end=end, stops=stops.to(device))

    def __call__(self, rows: Tensor) -> Singles:
        """Return framed rows (n, length) as single sentences; what no longer fits into a row is left out."""
        content = rows[:, 1:-1]
        over = content == self.end
        stop = self.stops[content] & ~_near(self.stops[content] | over)
        added = 2 * stop.long() + over.long()  # a frame between two sentences, or only a beginning after a text's end
        length = rows.shape[1]
        at = 1 + torch.arange(content.shape[1], device=rows.device) + added.cumsum(1) - added  # (n, length - 2)
        ids = torch.full((len(rows), length + 1), self.end, dtype=rows.dtype, device=rows.device)
        ids[:, 0] = self.begin
        ids.scatter_(1, at.clamp(max=length), content)  # the last column takes what does not fit
        ids.scatter_(1, torch.where(stop, at + 1, length).clamp(max=length), self.end)
        ids.scatter_(1, torch.where(added > 0, at + added, length).clamp(max=length), self.begin)
        ids = ids[:, :length].clone()
        ids[:, -1] = self.end
        begins = ids == self.begin
        place = torch.arange(length, device=rows.device).expand_as(ids)
        first = torch.where(begins, place, 0).cummax(1).values
        which = begins.cumsum(1)
        return Singles(ids=ids, places=place - first, seen=(which[:, :, None] == which[:, None, :])[:, None])


def _near(stops: Tensor) -> Tensor:
    """Return where another stop stands within `APART` tokens before or after."""
    near = torch.zeros_like(stops)
    for way in range(1, APART + 1):
        near[:, way:] |= stops[:, :-way]
        near[:, :-way] |= stops[:, way:]
    return near
