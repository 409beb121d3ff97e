"""A random order of any number of rows without a list of them: a small cipher over the row numbers.

Paper: Black & Rogaway 2002, "Ciphers with Arbitrary Finite Domains", method "generalized Feistel" with cycle walking.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import at_least
from mirrormask.core.seeding import derive, mixed

_ROUNDS = 12


class ShuffledOrder:
    """A permutation of range(n), the same for the same seed, in constant memory and with random access.

    A row number is written as two digits (left, right) in bases whose product is barely n or more; each round adds a
    keyed hash of one digit to the other, which can be undone and so loses no number. A result of n or more is sent
    through again until it falls into the range.

    Args:
        n: how many rows.
        seed: which permutation.

    Example:
        >>> order = ShuffledOrder(5, seed=1)
        >>> sorted(order[i] for i in range(5))
        [0, 1, 2, 3, 4]
    """

    def __init__(self, n: int, seed: int) -> None:
        self.n = at_least("n", n, 1, of="an order")
        self.seed = seed
        side = math.isqrt(n - 1) + 1
        self._left, self._right = np.uint64(side), np.uint64(-(-n // side))
        self._keys = [np.uint64(derive(seed, "order", turn)) for turn in range(_ROUNDS)]

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.n:
            raise IndexError(f"an order of {self.n} rows has no place {index}")
        return int(self.take(index, index + 1)[0])

    def take(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the rows at places `start` to `stop`."""
        return self.at(np.arange(start, min(stop, self.n)))

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows at the given places."""
        rows = self._once(places.astype(np.uint64))
        while (outside := rows >= self.n).any():
            rows[outside] = self._once(rows[outside])
        return rows.astype(np.int64)

    def _once(self, rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
        left, right = np.divmod(rows, self._right)
        for turn, key in enumerate(self._keys):
            if turn % 2:
                right = (right + mixed(left, key)) % self._right
            else:
                left = (left + mixed(right, key)) % self._left
        return left * self._right + right


class ShuffledRuns:
    """A permutation of range(n) that keeps neighbors together: runs of `length` rows, shuffled; a rest comes last.

    Args:
        n: how many rows.
        length: rows of a run.
        seed: which permutation.

    Example:
        >>> ShuffledRuns(5, 2, seed=1).take(0, 5).tolist() in ([0, 1, 2, 3, 4], [2, 3, 0, 1, 4])
        True
    """

    def __init__(self, n: int, length: int, seed: int) -> None:
        self.n, self.length, self.runs = n, length, n // length
        self._order = ShuffledOrder(max(1, self.runs), seed)

    def take(self, start: int, stop: int) -> NDArray[np.int64]:
        """Return the rows at places `start` to `stop`."""
        return self.at(np.arange(start, min(stop, self.n)))

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows at the given places."""
        run, offset = np.divmod(places, self.length)
        moved = self._order.at(np.minimum(run, max(0, self.runs - 1))) * self.length + offset
        return np.where(run < self.runs, moved, places)


def shuffled(n: int, together: int, seed: int) -> ShuffledOrder | ShuffledRuns:
    """Return a permutation of range(n) that keeps runs of `together` rows together."""
    return ShuffledOrder(n, seed) if together == 1 else ShuffledRuns(n, together, seed)
