"""Numbers that JSON cannot write."""

from __future__ import annotations

import math
from typing import Any


def finite(value: Any) -> Any:
    """Return a value with None for every number in it that JSON cannot write.

    Example:
        >>> finite({"a": [1.5, float("nan")], "b": float("inf")})
        {'a': [1.5, None], 'b': None}
    """
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
