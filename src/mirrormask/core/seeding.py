"""Seeds: every random choice is a function of a named seed and the step, so a resumed run makes the same choices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


def derive(seed: int, *path: str | int) -> int:
    """Return a 63-bit seed for one purpose, such as ``derive(42, "dropout", step)``.

    Example:
        >>> derive(42, "dropout", 1) == derive(42, "dropout", 1) != derive(42, "dropout", 2)
        True
    """
    text = "/".join([str(seed), *map(str, path)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


def generator(seed: int, *path: str | int) -> np.random.Generator:
    """Return a numpy generator for one purpose."""
    return np.random.Generator(np.random.PCG64(derive(seed, *path)))


def mixed(numbers: NDArray[np.uint64], key: np.uint64 | NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a hash of each number, short of 2**63 (SplitMix64: the numbers under one key are places of one stream)."""
    found = (numbers + key) * np.uint64(0x9E3779B97F4A7C15)
    found ^= found >> np.uint64(30)
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found >> np.uint64(1)


def uniforms(seed: int, *numbers: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return uniform draws from [0, 1), each a function of the seed and of its own numbers alone.

    Many rows draw at once, and a row draws the same whichever rows it is drawn with.

    Args:
        seed: from `derive`.
        numbers: arrays that broadcast: the row, then which of its draws.

    Example:
        >>> together = uniforms(7, np.array([[3], [8]]), np.arange(4))
        >>> together.shape, bool((uniforms(7, np.array([8]), np.arange(4)) == together[1]).all())
        ((2, 4), True)
    """
    key = np.array([seed], dtype=np.uint64)
    for each in numbers:
        key = mixed(each.astype(np.uint64), key)
    return (key >> np.uint64(10)).astype(np.float64) * 2.0**-53


def integers(
    low: int | NDArray[np.int64], high: int | NDArray[np.int64], chance: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Return an integer from `low` to `high`, both included and all alike likely, for each uniform draw."""
    found: NDArray[np.int64] = low + (chance * (high - low + 1)).astype(np.int64)
    return found


@dataclass(frozen=True)
class Seeds:
    """The three sources of chance in a run, so that each can be held fixed while the others vary.

    Args:
        data: order of the rows and random choices about text.
        dropout: everything drawn inside a training step.
        initialization: fresh weights.
    """

    data: int = 42
    dropout: int = 42
    initialization: int = 42

    @classmethod
    def all(cls, seed: int) -> Seeds:
        """Return the same seed for all three."""
        return cls(seed, seed, seed)
