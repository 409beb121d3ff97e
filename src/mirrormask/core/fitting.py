"""Whether a value from a recipe or an option fits the type a parameter is declared with."""

from __future__ import annotations

import types
import typing
from typing import Any

WRONG = object()
"""What `fitted` returns for a value that does not fit."""

_NAMES = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


def fitted(value: Any, hint: Any) -> Any:
    """Return the value as the declared type, or `WRONG`; a type that no recipe can write takes any value.

    Example:
        >>> fitted(1, float), fitted(None, float | None), fitted(True, int) is WRONG, fitted("a", tuple[str, ...])
        (1.0, None, True, ('a',))
        >>> fitted([0.9, 1], tuple[float, float]), fitted([0.9], tuple[float, float]) is WRONG
        ((0.9, 1.0), True)
    """
    if isinstance(hint, types.UnionType):
        fits = (fitted(value, part) for part in hint.__args__)
        return next((fit for fit in fits if fit is not WRONG), WRONG)
    if typing.get_origin(hint) is tuple:
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, (list, tuple)):
            return WRONG
        parts = _items(hint, len(items))
        found = tuple(fitted(item, part) for item, part in zip(items, parts, strict=False))
        return WRONG if len(items) != len(parts) or WRONG in found else found
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint in (int, float) and isinstance(value, bool):
        return WRONG
    if hint in _NAMES or hint is types.NoneType:
        return value if isinstance(value, hint) else WRONG
    return value


def type_name(hint: Any) -> str:
    """Return a declared type in words.

    Example:
        >>> type_name(float | None), type_name(tuple[str, ...]), type_name(tuple[float, float])
        ('a number', 'a list of texts', 'a list of 2 numbers')
    """
    if isinstance(hint, types.UnionType):
        return " or ".join(type_name(part) for part in hint.__args__ if part is not types.NoneType)
    if typing.get_origin(hint) is tuple:
        kind = {str: "texts", float: "numbers", int: "whole numbers"}.get(hint.__args__[0], "values")
        return f"a list of {kind}" if hint.__args__[-1] is ... else f"a list of {len(hint.__args__)} {kind}"
    return _NAMES.get(hint, str(hint))


def _items(hint: Any, count: int) -> tuple[Any, ...]:
    """Return the types of a tuple's items: as many as there are where the length is open."""
    parts: tuple[Any, ...] = hint.__args__
    return parts[:1] * count if parts[-1] is ... else parts
