"""What the columns of an index hold, counted, for who wants to narrow a search without knowing them."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.finite import finite
from mirrormask.search.metadata import Column

MOST_VALUES = 30
_MOST_DIFFERENT = 1000  # a column with more different values is a text or an id, and no choice


def facet(name: str, column: Column, alive: NDArray[np.bool_]) -> dict[str, Any]:
    """Return the values of a column with their counts and the condition that asks for each, JSON-able.

    Args:
        name: of the column.
        column: of all documents.
        alive: which of them count (n,).
    """
    counts = np.bincount(column.codes[alive], minlength=len(column.values)).tolist()
    found: dict[str, Any] = {"name": name, "numeric": column.numeric, "different": 0, "values": []}
    if column.numeric:
        numbers = column.numbers()[np.array(counts) > 0]
        numbers = numbers[np.isfinite(numbers)]
        found |= {"low": float(numbers.min()), "high": float(numbers.max())} if len(numbers) else {}
    held: Counter[str] = Counter()
    for value, count in zip(column.values, counts, strict=True):
        for each in value if isinstance(value, list) else [value]:
            if count and finite(each) not in (None, "") and not isinstance(each, (dict, list)):
                held[json.dumps(each, ensure_ascii=False)] += count
    found["different"] = len(held)
    if len(held) <= _MOST_DIFFERENT and "`" not in name:
        for text, count in sorted(held.items(), key=lambda item: (-item[1], item[0]))[:MOST_VALUES]:
            value = json.loads(text)
            found["values"].append({"value": value, "count": count, "where": f"`{name}` = {_literal(value)}"})
    return found


def _literal(value: Any) -> str:
    """Return a value as a condition writes it."""
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    return json.dumps(value)
