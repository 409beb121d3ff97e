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
    """One process's rows of a batch: a column per role (anchor, positive, hard negative …), row i of each together.

    Args:
        columns: one `Tokens` per column, all of the same length n.
        labels: class of each row (n,), or its score, where the method takes labels.
        text_ids: a number for the text of each column (n, columns), the same for the same text.
    """

    columns: tuple[Tokens, ...]
    labels: Tensor | None = None
    text_ids: Tensor | None = None

    def __post_init__(self) -> None:
        _same_rows("batch", len(self), columns=self.columns, labels=self.labels, text_ids=self.text_ids)

    def __len__(self) -> int:
        return len(self.columns[0])


def text_ids_of(columns: Sequence[Tokens]) -> Tensor:
    """Return a number for each text (n, columns): a checksum of its tokens, the same in every process.

    Example:
        >>> one, other = Tokens.of([np.array([5, 6]), np.array([7])]), Tokens.of([np.array([7]), np.array([8])])
        >>> found = text_ids_of([one, other])
        >>> (found[1, 0] == found[0, 1]).item(), (found[0, 0] == found[1, 1]).item()
        (True, False)
    """
    rows = [row for column in columns for row in column.rows]
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    starts = np.cumsum(lengths) - lengths
    ids = np.concatenate([*rows, np.zeros(1, np.int64)]).astype(np.uint64)  # one more, so that every start is inside
    place = np.arange(len(ids), dtype=np.uint64) - np.append(np.repeat(starts, lengths), 0).astype(np.uint64)
    keys = (place + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    keys = (keys ^ (keys >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    ids[:-1] += np.uint64(1)  # so that a 0 counts, and the one more does not
    sums = np.add.reduceat(ids * (keys | np.uint64(1)), starts)
    numbers = np.where(lengths > 0, sums, 0).astype(np.int64)
    return torch.from_numpy(numbers.reshape(len(columns), -1).T.copy())


@dataclass(frozen=True)
class Step:
    """The vectors of one batch, as objectives and negative sources see them: rows of all processes, never of one.

    What only this process has, tokens and token states, is no part of a step.

    Args:
        anchor: sentence vectors (n, d).
        positive: sentence vectors (n, d); row i belongs to anchor i.
        hard: hard negatives (n, k, d), or None.
        extra: generated or remembered negatives (m, d), or None.
        labels: class of each row (n,), or its score, where the batch has them.
        text_ids: a number for the text of each column (n, columns), where the batch has them.
        targets: what anchors and positives are compared with (n, k) each, where an objective does so; one where both
            are views of one column.
    """

    anchor: Tensor
    positive: Tensor
    hard: Tensor | None = None
    extra: Tensor | None = None
    labels: Tensor | None = None
    text_ids: Tensor | None = None
    targets: tuple[Tensor, ...] = ()

    def __post_init__(self) -> None:
        _same_rows(
            "step",
            len(self.anchor),
            positive=self.positive,
            hard=self.hard,
            labels=self.labels,
            text_ids=self.text_ids,
            targets=self.targets,
        )


def _same_rows(what: str, rows: int, **parts: Any) -> None:
    """Refuse parts with another number of rows: those of one process beside those of all, or of another batch."""
    for name, part in parts.items():
        for each in part if isinstance(part, tuple) else (part,):
            if each is not None and len(each) != rows:
                raise TypeError(f"The {name} of a {what} must have its {rows} rows. Got {len(each)}.")


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
