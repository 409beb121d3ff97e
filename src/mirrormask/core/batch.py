"""What travels through training, one way: rows → `Tokens` → `Batch` → `Step` → loss. All frozen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.integer[Any]]
"""Token ids of one text with its special tokens, one dimension, no padding."""


@dataclass(frozen=True)
class Tokens:
    """Tokenized rows without padding; padding happens per shard, just before a forward.

    Args:
        rows: the ids of each text, special tokens included.
    """

    rows: tuple[Ids, ...]

    @classmethod
    def of(cls, rows: Sequence[Ids]) -> Tokens:
        """Return the rows as Tokens."""
        return cls(tuple(rows))

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.rows + other.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Return the number of tokens of each row."""
        return np.fromiter((len(row) for row in self.rows), dtype=np.int64, count=len(self.rows))

    def padded(
        self,
        pad_id: int,
        index: Sequence[int] | NDArray[np.int64],
        *,
        multiple_of: int = 1,
        at_most: int | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Return ids and mask (len(index), width) of the chosen rows.

        Args:
            pad_id: what to pad with.
            index: the rows.
            multiple_of: the longest row's length is rounded up to a multiple of this.
            at_most: the widest a model takes; rounding stops there.
        """
        longest = max(len(self.rows[i]) for i in index)
        width = -(-longest // multiple_of) * multiple_of
        if at_most is not None:
            width = max(longest, min(width, at_most))
        ids = np.full((len(index), width), pad_id, dtype=np.int64)
        mask = np.zeros((len(index), width), dtype=np.int64)
        for place, i in enumerate(index):
            ids[place, : len(self.rows[i])] = self.rows[i]
            mask[place, : len(self.rows[i])] = 1
        return torch.from_numpy(ids), torch.from_numpy(mask)


@dataclass(frozen=True)
class Batch:
    """One batch: a column per role (anchor, positive, hard negative …), row i of each belonging together.

    Args:
        columns: one `Tokens` per column, all of the same length n.
        labels: class of each row (n,), where the method takes labels.
        text_ids: the corpus row each anchor came from, to tell duplicates apart (n,).
    """

    columns: tuple[Tokens, ...]
    labels: Tensor | None = None
    text_ids: Tensor | None = None

    def __len__(self) -> int:
        return len(self.columns[0])


@dataclass(frozen=True)
class Step:
    """The vectors of one batch, as objectives and negative sources see them.

    Args:
        batch: what was encoded.
        anchor: sentence vectors (n, d); with several processes, those of the joint batch.
        positive: sentence vectors (n, d); row i belongs to anchor i.
        hard: hard negatives (n, k, d), or None.
        extra: generated or remembered negatives (m, d), or None.
        states: token states, where an objective asks for them.
        targets: what anchors and positives are compared with (n, k) each, where an objective does so; one where both
            are views of one column.
    """

    batch: Batch
    anchor: Tensor
    positive: Tensor
    hard: Tensor | None = None
    extra: Tensor | None = None
    states: Tensor | None = None
    targets: tuple[Tensor, ...] = ()


@dataclass(frozen=True)
class Frame:
    """The tokens that stand around every text: the special tokens, or a prompt with its mask.

    Args:
        prefix: ids before the text.
        suffix: ids after the text.
    """

    prefix: Ids
    suffix: Ids

    def __len__(self) -> int:
        return len(self.prefix) + len(self.suffix)

    def around(self, ids: Ids, max_length: int) -> Ids:
        """Return prefix + ids + suffix, the text cut so that all fits into `max_length`."""
        return np.concatenate([self.prefix, ids[: max(0, max_length - len(self))], self.suffix])

    def around_each(self, rows: Sequence[Ids], max_length: int) -> list[Ids]:
        """Return prefix + ids + suffix of every row, the text cut so that all fits into `max_length`."""
        if not rows:
            return []
        around = len(self)
        room = max(0, max_length - around)
        texts = [ids[:room] for ids in rows]
        whole = np.concatenate([piece for ids in texts for piece in (self.prefix, ids, self.suffix)])
        ends = np.cumsum([len(ids) + around for ids in texts]).tolist()
        return [whole[a:b] for a, b in zip([0, *ends], ends, strict=False)]
