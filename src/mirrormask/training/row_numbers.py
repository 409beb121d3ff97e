"""Batches that are numbers of rows, for a model that holds its rows itself."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from mirrormask.core.seeding import generator


class RowNumbers:
    """Batches that are the numbers of their rows (n,); every epoch is shuffled anew.

    Args:
        rows: how many there are.
        batch_size: rows of a batch; the last of an epoch may be smaller.
        seed: of the order.
    """

    def __init__(self, rows: int, batch_size: int, seed: int) -> None:
        self.rows, self.batch_size, self.seed = rows, batch_size, seed

    def __len__(self) -> int:
        return -(-self.rows // self.batch_size)

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Tensor]:
        """Yield the batches from `start` to `stop`, this process's share of each."""
        for step in range(start, stop):
            epoch, place = divmod(step, len(self))
            order = generator(self.seed, "rows", epoch).permutation(self.rows)
            chosen = order[place * self.batch_size : (place + 1) * self.batch_size][rank::world]
            yield torch.from_numpy(chosen.astype(np.int64))
