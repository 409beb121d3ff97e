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
    """
    if isinstance(hint, types.UnionType):
        fits = (fitted(value, part) for part in hint.__args__)
        return next((fit for fit in fits if fit is not WRONG), WRONG)
    if typing.get_origin(hint) is tuple:
        items = [value] if isinstance(value, str) else value
        return tuple(items) if isinstance(items, (list, tuple)) and all(isinstance(i, str) for i in items) else WRONG
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
        >>> type_name(float | None), type_name(tuple[str, ...])
        ('a number', 'a list of texts')
    """
    if isinstance(hint, types.UnionType):
        return " or ".join(type_name(part) for part in hint.__args__ if part is not types.NoneType)
    if typing.get_origin(hint) is tuple:
        return "a list of texts"
    return _NAMES.get(hint, str(hint))
