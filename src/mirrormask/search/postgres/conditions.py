"""Conditions on metadata as SQL, true for the same documents as in an index on disk.

A document's columns are in `metadata`, as they were given; in `numbers` are those that are a number, or the text of
one, since only Python says what that is. What is missing is no third truth value: every comparison is true or false.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mirrormask.search.filters import ORDER, Comparison, Condition, Joined, Not, as_number, as_text, unknown_column
from mirrormask.search.metadata import number_of

_LARGEST = 1.7976931348623157e308


@dataclass(frozen=True)
class Part:
    """A piece of SQL that is true or false of a passage, and the values of its places."""

    sql: str
    values: tuple[Any, ...] = ()


def to_sql(condition: Condition, numeric: Mapping[str, bool], collation: str = "") -> Part:
    """Return a condition in SQL.

    Args:
        condition: that was read.
        numeric: by name of the columns, whether every value is a number.
        collation: by which letters are made small, such as `COLLATE "unicode"`.

    Raises:
        MirrormaskError: there is no such column.

    Example:
        >>> to_sql(Comparison("year", ">=", (2020,)), {"year": True}).values
        ('year', 'year', 2020.0)
    """
    if isinstance(condition, Not):
        inner = to_sql(condition.part, numeric, collation)
        return Part(f"(NOT {inner.sql})", inner.values)
    if isinstance(condition, Joined):
        parts = [to_sql(each, numeric, collation) for each in condition.parts]
        word = " AND " if condition.every else " OR "
        return Part(f"({word.join(each.sql for each in parts)})", sum((each.values for each in parts), ()))
    if condition.column not in numeric:
        raise unknown_column(condition.column, list(numeric))
    found = _comparison(condition, numeric[condition.column], collation)
    return Part(f"COALESCE({found.sql}, false)", found.values)


def numbers_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns of a document that are numbers, or texts of one; of a list, those of its items that are.

    Example:
        >>> numbers_of({"year": "1999", "name": "x", "sizes": [1, "2", "b", True]})
        {'year': 1999.0, 'sizes': [1.0, 2.0]}
    """
    found: dict[str, Any] = {}
    for name, value in metadata.items():
        if isinstance(value, list):
            items = [_held(each) for each in value if not isinstance(each, bool)]
            items = [each for each in items if each is not None]
            if items:
                found[name] = items
        elif (number := _held(value)) is not None:
            found[name] = number
    return found


def _comparison(given: Comparison, numeric: bool, collation: str) -> Part:
    name, sign = given.column, given.sign
    if sign in ORDER and numeric:
        limit = as_number(given.values[0], given)
        return Part(
            f"(CASE WHEN jsonb_typeof(numbers->%s) = 'number' THEN (numbers->>%s)::float8 {sign} %s END)",
            (name, name, limit),
        )
    if sign in ORDER:
        return Part(f'((metadata->>%s) COLLATE "C" {sign} %s)', (name, as_text(given.values[0])))
    if sign == "contains":
        item = _item(name, given.values[0])
        return Part(
            f"(CASE WHEN jsonb_typeof(metadata->%s) = 'array' THEN {item.sql} "
            f"ELSE strpos(lower((metadata->>%s) {collation}), %s) > 0 END)",
            (name, *item.values, name, str(given.values[0]).lower()),
        )
    equal = [_equal(name, value) for value in given.values]
    joined = " OR ".join(f"COALESCE({each.sql}, false)" for each in equal)
    negated = "" if sign in ("=", "in") else "NOT "
    return Part(f"({negated}({joined}))", sum((each.values for each in equal), ()))


def _equal(name: str, wanted: Any) -> Part:
    item = _item(name, wanted)
    if wanted is None:
        one = Part("COALESCE(metadata->>%s, '') = ''", (name,))
    elif isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        one = Part(
            "(CASE WHEN jsonb_typeof(numbers->%s) = 'number' AND jsonb_typeof(metadata->%s) <> 'boolean' "
            "THEN (numbers->>%s)::float8 = %s END)",
            (name, name, name, float(wanted)),
        )
    else:
        one = Part("metadata->>%s = %s", (name, as_text(wanted)))
    return Part(
        f"(CASE WHEN jsonb_typeof(metadata->%s) = 'array' THEN {item.sql} ELSE {one.sql} END)",
        (name, *item.values, *one.values),
    )


def _item(name: str, wanted: Any) -> Part:
    """Return whether an item of a list is the one wanted."""
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return Part(
            "EXISTS (SELECT FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(numbers->%s) = 'array' "
            "THEN numbers->%s ELSE '[]' END) AS item WHERE item::float8 = %s)",
            (name, name, float(wanted)),
        )
    return Part(
        "EXISTS (SELECT FROM jsonb_array_elements_text(CASE WHEN jsonb_typeof(metadata->%s) = 'array' "
        "THEN metadata->%s ELSE '[]' END) AS item WHERE item = %s)",
        (name, name, "" if wanted is None else as_text(wanted)),
    )


def _held(value: Any) -> float | None:
    """Return a value's number as JSON can hold it, or None."""
    number = number_of(value)
    return None if math.isnan(number) else max(-_LARGEST, min(number, _LARGEST))
