from __future__ import annotations

from typing import Any

import pytest

from mirrormask.core.fitting import WRONG, fitted, type_name


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (3, int, 3),
        (3, float, 3.0),
        (0.5, float, 0.5),
        (True, bool, True),
        ("a", str, "a"),
        (None, float | None, None),
        (2, float | None, 2.0),
        (["a", "b"], tuple[str, ...], ("a", "b")),
        ("a", tuple[str, ...], ("a",)),
        ([], tuple[str, ...], ()),
        ([0.9, 0.98], tuple[float, float], (0.9, 0.98)),
        ((1, 0.5), tuple[float, float], (1.0, 0.5)),
        (object, Any, object),
    ],
)
def test_values_that_fit(value: Any, hint: Any, expected: Any) -> None:
    found = fitted(value, hint)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (0.5, int),
        ("3", int),
        (True, int),
        (True, float),
        ("x", float),
        (1, bool),
        (1, str),
        (None, int),
        ([1], tuple[str, ...]),
        ([0.9], tuple[float, float]),
        ([0.9, 0.98, 0.99], tuple[float, float]),
        ([0.9, "x"], tuple[float, float]),
        ([0.9, True], tuple[float, float]),
        (0.9, tuple[float, float]),
        ("ab", tuple[float, float]),
    ],
)
def test_values_that_do_not(value: Any, hint: Any) -> None:
    assert fitted(value, hint) is WRONG


def test_types_in_words() -> None:
    names = [type_name(hint) for hint in (str, int, float, bool, float | None, int | str, tuple[str, ...])]
    names.append(type_name(tuple[float, float]))
    assert names == [
        "a text",
        "a whole number",
        "a number",
        "true or false",
        "a number",
        "a whole number or a text",
        "a list of texts",
        "a list of 2 numbers",
    ]
