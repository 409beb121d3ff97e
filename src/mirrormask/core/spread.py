"""A sample that chance has no part in: numbers spread evenly over a range."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def spread_evenly(count: int, most: int) -> NDArray[np.int64]:
    """Return at most `most` different numbers below `count`, evenly spaced, the first and the last among them.

    Example:
        >>> spread_evenly(10, 4).tolist(), spread_evenly(3, 4).tolist(), spread_evenly(0, 4).tolist()
        ([0, 3, 6, 9], [0, 1, 2], [])
    """
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64))
