"""Seeds: every random choice is a function of a named seed and the step, so a resumed run makes the same choices."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np


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
