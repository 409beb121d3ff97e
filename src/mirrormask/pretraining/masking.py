"""Which tokens are hidden, and how: a fixed number in every row, never a special token.

A fixed number per row keeps shapes equal, so that the LM head runs at these positions alone; `models.hiding` says what
a chosen token is hidden behind. Whole words: Cui et al. 2021, "Pre-training with whole word masking for Chinese BERT".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mirrormask.data.text.vocabulary import word_starts
from mirrormask.models.hiding import hide

IGNORED = -100
"""The label of a place that does not count."""


@dataclass(frozen=True)
class Hidden:
    """Rows with hidden tokens.

    Args:
        ids: the rows as the model sees them (n, length).
        positions: the places to predict (n, k).
        labels: what stood there (n, k); `IGNORED` where a row has too few words to hide.
    """

    ids: Tensor
    positions: Tensor
    labels: Tensor


class Masking:
    """Hides the same number of tokens in every row.

    Args:
        mask_id: the id of [MASK].
        special: for every id, whether it is special (vocabulary,).
        starts: for every id, whether it begins a word (vocabulary,).
        rate: share of a row's places to hide.
        whole_words: hide all pieces of a word or none, as far as the fixed number allows.
    """

    def __init__(self, *, mask_id: int, special: Tensor, starts: Tensor, rate: float, whole_words: bool) -> None:
        self.mask_id = mask_id
        self.special = special
        self.starts = starts
        self.ordinary = torch.nonzero(~special)[:, 0]  # what a random token is drawn from
        self.rate = rate
        self.whole_words = whole_words

    @classmethod
    def of(cls, tokenizer: Any, *, rate: float, whole_words: bool = False) -> Masking:
        """Return the masking of a tokenizer's ids."""
        special = torch.zeros(len(tokenizer), dtype=torch.bool)
        special[[i for i in tokenizer.all_special_ids if i < len(tokenizer)]] = True
        starts = torch.from_numpy(word_starts(tokenizer))
        mask_id = tokenizer.mask_token_id
        return cls(mask_id=mask_id, special=special, starts=starts, rate=rate, whole_words=whole_words)

    def count(self, places: int) -> int:
        """Return how many tokens of so many places are hidden."""
        return max(1, round(self.rate * places))

    def to(self, device: torch.device) -> Masking:
        """Return the same masking with its tables on `device`."""
        return Masking(
            mask_id=self.mask_id,
            special=self.special.to(device),
            starts=self.starts.to(device),
            rate=self.rate,
            whole_words=self.whole_words,
        )

    def __call__(self, ids: Tensor, count: int, seed: int) -> Hidden:
        """Return the rows (n, length) with `count` tokens of each hidden; the same seed hides the same tokens."""
        chance = torch.Generator(ids.device).manual_seed(seed)
        free = ~self.special[ids]  # (n, length)
        positions = self._choose(ids, free, count, chance)
        there = free.gather(1, positions)
        old = ids.gather(1, positions)
        new = hide(old, there, mask_id=self.mask_id, ordinary=self.ordinary, chance=chance)
        return Hidden(
            ids=ids.scatter(1, positions, new),
            positions=positions,
            labels=torch.where(there, old, IGNORED),
        )

    def _choose(self, ids: Tensor, free: Tensor, count: int, chance: torch.Generator) -> Tensor:
        """Return `count` places of each row (n, count), free ones first."""
        keys = torch.rand(ids.shape, generator=chance, device=ids.device)
        if self.whole_words:
            keys = self._by_words(ids, free, count, keys)
        return torch.topk(keys.masked_fill(~free, 2.0), count, dim=1, largest=False, sorted=False).indices

    def _by_words(self, ids: Tensor, free: Tensor, count: int, keys: Tensor) -> Tensor:
        """Return keys by which whole words come first, then single pieces to fill up the number.

        Words come in random order until the next one does not fit; what is missing is made up of words of one piece.
        """
        begins = self.starts[ids] | ~free
        begins[:, 0] = True
        word = begins.cumsum(1) - 1  # (n, length): which word of its row a token belongs to
        key = keys.gather(1, _first_of(word))  # a word's pieces share the key of its first
        order = key.masked_fill(~free, 2.0).argsort(dim=1, stable=True)
        size = torch.zeros_like(keys).scatter_add_(1, word, free.float()).gather(1, word)
        ahead = torch.empty_like(order).scatter_(1, order, torch.arange(ids.shape[1], device=ids.device).expand_as(ids))
        first = torch.full_like(keys, ids.shape[1]).scatter_reduce_(1, word, ahead.float(), "amin").gather(1, word)
        fits = (first + size <= count) & free
        return torch.where(fits, key - 1.0, torch.where(size == 1, key, key + 1.0))


def _first_of(word: Tensor) -> Tensor:
    """Return, for each token, the place of its word's first token."""
    places = torch.arange(word.shape[1], device=word.device).expand_as(word)
    return torch.full_like(word, word.shape[1]).scatter_reduce_(1, word, places, "amin").gather(1, word)
