"""Pairs of texts with a gold score: an STS task, or a file of the user's own."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

POSITIVE_SHARE = 0.8
"""Pairs above this share of the score's range are positives: above 4 on a scale from 0 to 5."""


@dataclass(frozen=True)
class ScoredPairs:
    """Row i of `sentence1`, `sentence2` and `scores` is a pair and how alike people found it.

    Args:
        name: short name, such as "sts12" or that of a file.
        split: the split that was read; empty for a file.
        sentence1, sentence2: the two sides of each pair.
        scores: gold scores (n,), higher meaning more alike.
        subsets: the part of the task each pair belongs to, or None where the data does not say.
        single: whether the task has no parts by definition, so that `all`, `mean` and `wmean` are one number.
        source: the file or hub name it was read from, for messages.
        note: what a reader should know beside the number.
        scale: lowest and highest possible score; by default what the scores look like.
    """

    name: str
    split: str
    sentence1: tuple[str, ...]
    sentence2: tuple[str, ...]
    scores: NDArray[np.float64] = field(repr=False)
    subsets: tuple[str, ...] | None = None
    single: bool = False
    source: str = ""
    note: str = ""
    scale: tuple[float, float] | None = None

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def limits(self) -> tuple[float, float]:
        """Return the lowest and the highest possible score."""
        return self.scale or likely_scale(self.scores)

    @property
    def positive_above(self) -> float:
        """Return the score above which a pair means the same."""
        low, high = self.limits
        return low + POSITIVE_SHARE * (high - low)

    @property
    def numbers(self) -> NDArray[np.int64]:
        """Return a number for each pair (n,), the same wherever the pair stands."""
        return pair_numbers(self.sentence1, self.sentence2)


def pair_numbers(first: tuple[str, ...] | list[str], second: tuple[str, ...] | list[str]) -> NDArray[np.int64]:
    """Return a number for each pair of sentences, the same whatever their case, punctuation and order.

    Example:
        >>> pair_numbers(["A cat.", "It ran"], ["a dog", "It sat"])[0] == pair_numbers(["a dog ."], ["a cat"])[0]
        np.True_
    """
    found = np.empty(len(first), dtype=np.int64)
    for row, pair in enumerate(zip(first, second, strict=True)):
        text = "\0".join(sorted(re.sub(r"[\W_]+", "", side.lower()) for side in pair))
        found[row] = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1
    return found


def likely_scale(scores: NDArray[np.floating]) -> tuple[float, float]:
    """Return the scale scores seem to be on: from 0, or the lowest if below, to 1, 4, 5, 10 or 100, or the highest.

    Example:
        >>> likely_scale(np.array([0.2, 3.0, 4.8])), likely_scale(np.array([-1.0, 0.95]))
        ((0.0, 5.0), (-1.0, 1.0))
    """
    low, high = min(0.0, float(scores.min())), float(scores.max())
    return low, next((float(top) for top in (1, 4, 5, 10, 100) if 0.9 * top <= high <= top), high)
