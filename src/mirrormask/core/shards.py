"""The one token-budget batcher: rows sorted by true token length, cut so that little is padded."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def length_shards(
    lengths: NDArray[np.integer],
    token_budget: int,
    *,
    max_rows: int | None = None,
    tolerance: float = 1.0,
    spare: int = 0,
) -> list[NDArray[np.int64]]:
    """Return row indices in shards of similar length, longest first, each of at most `token_budget` padded tokens.

    A shard is also cut where its longest row is more than `1 + tolerance` times the next one,
    so that a few long rows do not make the many short ones pay.

    Args:
        lengths: number of tokens of each row (n,).
        token_budget: rows of a shard times its longest row; a single longer row still gets a shard of its own.
        max_rows: most rows in a shard.
        tolerance: how much longer than the shortest row of a shard its longest may be, as a fraction.
        spare: tokens of padding that a shard may have all the same, where another forward would cost more.

    Example:
        >>> [shard.tolist() for shard in length_shards(np.array([4, 9, 4, 8]), token_budget=18)]
        [[1, 3], [0, 2]]
    """
    order = np.argsort(-np.asarray(lengths), kind="stable").astype(np.int64)
    shards: list[NDArray[np.int64]] = []
    start = 0
    while start < len(order):
        longest = int(lengths[order[start]])
        rows = max(1, token_budget // max(longest, 1))
        if max_rows is not None:
            rows = min(rows, max_rows)
        candidates = order[start : start + rows]
        fits = longest <= lengths[candidates] * (1 + tolerance)
        if spare:
            fits |= np.cumsum(longest - lengths[candidates]) <= spare
        end = start + (len(candidates) if fits.all() else int(np.argmin(fits)))
        shards.append(order[start:end])
        start = end
    return shards
