"""Conditions on metadata, `year >= 2020 and lang = "en"`, read by a small parser, answered for all documents at once.

    condition  = either ("or" either)*
    either     = one ("and" one)*
    one        = "not" one | "(" condition ")" | COLUMN comparison
    comparison = ("=" | "!=" | "<" | "<=" | ">" | ">=" | "contains") VALUE | ["not"] "in" "(" VALUE ("," VALUE)* ")"

A column is a word, or anything in backquotes; a value is a number, a text in quotes, true, false or null. Where every
value of a column is a number, it is compared as numbers, else as texts. What is missing meets no comparison but `!=`,
`not in` and `= null`.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.search.metadata import Column

Mask = NDArray[np.bool_]
Columns = Callable[[str], Column]

_TOKEN = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.]))
    |(?P<sign><=|>=|!=|<>|==|=|<|>|\(|\)|,)|(?P<quoted>`[^`]+`)|(?P<word>[^\W\d][\w.\-]*))""",
    re.VERBOSE,
)
ORDER: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SAME = {"==": "=", "<>": "!="}
_LONGEST, _DEEPEST = 10_000, 50
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True)
class Comparison:
    """A column compared with a value, or with several for `in`."""

    column: str
    sign: str
    values: tuple[Any, ...]

    def of(self, columns: Columns) -> Mask:
        """Return which documents meet it."""
        column = columns(self.column)
        met = np.array([self._meets(value) for value in column.values], dtype=bool)
        if column.numeric and self.sign in ORDER:
            limit = as_number(self.values[0], self)
            with np.errstate(invalid="ignore"):
                met = ORDER[self.sign](column.numbers(), limit)
        return met[column.codes]

    def _meets(self, value: Any) -> bool:
        if self.sign == "contains":
            wanted = self.values[0]
            if isinstance(value, list):
                return any(_equal(each, wanted) for each in value)
            return value is not None and str(wanted).lower() in str(value).lower()
        if self.sign in ORDER:
            return value is not None and bool(ORDER[self.sign](as_text(value), as_text(self.values[0])))
        found = any(_equal(value, wanted) for wanted in self.values)
        return found if self.sign in ("=", "in") else not found


@dataclass(frozen=True)
class Joined:
    """Conditions that must all hold, or of which one must."""

    parts: tuple[Any, ...]
    every: bool

    def of(self, columns: Columns) -> Mask:
        """Return which documents meet it."""
        masks = [part.of(columns) for part in self.parts]
        return np.logical_and.reduce(masks) if self.every else np.logical_or.reduce(masks)


@dataclass(frozen=True)
class Not:
    """A condition that must not hold."""

    part: Any

    def of(self, columns: Columns) -> Mask:
        """Return which documents meet it."""
        return np.logical_not(self.part.of(columns))


Condition = Comparison | Joined | Not


def parse(text: str) -> Condition:
    """Return the condition that a text says.

    Raises:
        MirrormaskError: it says none; the message shows where.

    Example:
        >>> parse('year >= 2020 and lang = "en"').parts[0]
        Comparison(column='year', sign='>=', values=(2020,))
    """
    return _Parser(text).whole()


def unknown_column(name: str, there: Sequence[str]) -> MirrormaskError:
    """Return the sentence for a column that no document has."""
    if not there:
        return MirrormaskError(f"The documents of this index have no column {name!r}: they have none but their text.")
    return MirrormaskError(
        f"The documents of this index have no column {name!r}.{did_you_mean(name, there)} "
        f"Their columns are: {', '.join(there)}."
    )


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > _LONGEST:
            raise MirrormaskError(f"A condition may have {_LONGEST:,} characters. Got {len(text):,}.")
        self.tokens: list[tuple[str, str, int]] = []
        place = 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None:
                raise self._wrong(place, "a column, a comparison or a value")
            kind = str(found.lastgroup)
            self.tokens.append((kind, found[kind], found.start(kind)))
            place = found.end()
        self.at = 0
        self.depth = 0

    def whole(self) -> Condition:
        condition = self.either()
        if self.at < len(self.tokens):
            raise self._wrong(self.tokens[self.at][2], "'and', 'or' or the end")
        return condition

    def either(self) -> Condition:
        parts = [self.every()]
        while self.takes("or"):
            parts.append(self.every())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=False)

    def every(self) -> Condition:
        parts = [self.one()]
        while self.takes("and"):
            parts.append(self.one())
        return parts[0] if len(parts) == 1 else Joined(tuple(parts), every=True)

    def one(self) -> Condition:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise MirrormaskError(f"A condition may be nested {_DEEPEST} deep. Take out some parentheses.")
        try:
            if self.takes("not"):
                return Not(self.one())
            if self.takes("("):
                inside = self.either()
                self.needs(")")
                return inside
            return self.comparison()
        finally:
            self.depth -= 1

    def comparison(self) -> Condition:
        kind, word, place = self.next("a column")
        if kind not in ("word", "quoted"):
            raise self._wrong(place, "a column")
        name = word.strip("`")
        if self.takes("not"):
            self.needs("in")
            return Comparison(name, "not in", self.several())
        if self.takes("in"):
            return Comparison(name, "in", self.several())
        _, sign, place = self.next("a comparison")
        sign = _SAME.get(sign, sign.lower())
        if sign not in ("=", "!=", "contains", *ORDER):
            raise self._wrong(place, "one of = != < <= > >= in contains")
        return Comparison(name, sign, (self.value(),))

    def several(self) -> tuple[Any, ...]:
        self.needs("(")
        found = [self.value()]
        while self.takes(","):
            found.append(self.value())
        self.needs(")")
        return tuple(found)

    def value(self) -> Any:
        kind, word, place = self.next("a value")
        if kind == "text":
            return re.sub(r"\\(.)", r"\1", word[1:-1])
        if kind == "number":
            return float(word) if set(word.lower()) & set(".e") or len(word) > 15 else int(word)
        if kind == "word" and word.lower() in _WORDS:
            return _WORDS[word.lower()]
        raise self._wrong(place, "a value: a number, or a text in quotes")

    def takes(self, word: str) -> bool:
        if self.at < len(self.tokens) and self.tokens[self.at][1].lower() == word and self.tokens[self.at][0] != "text":
            self.at += 1
            return True
        return False

    def needs(self, word: str) -> None:
        if not self.takes(word):
            place = self.tokens[self.at][2] if self.at < len(self.tokens) else len(self.text)
            raise self._wrong(place, f"{word!r}")

    def next(self, wanted: str) -> tuple[str, str, int]:
        if self.at == len(self.tokens):
            raise self._wrong(len(self.text), wanted)
        self.at += 1
        return self.tokens[self.at - 1]

    def _wrong(self, place: int, wanted: str) -> MirrormaskError:
        where = f"at {self.text[place : place + 20]!r}" if self.text[place:].strip() else "at its end"
        return MirrormaskError(
            f"The condition {self.text!r:.120} cannot be read {where}: {wanted} is needed there. "
            'Write it as in: year >= 2020 and lang in ("en", "de") and not title contains "draft".'
        )


def _equal(value: Any, wanted: Any) -> bool:
    if isinstance(value, list):
        return any(_equal(each, wanted) for each in value)
    if value is None or wanted is None:
        return wanted is None and value in (None, "")
    if isinstance(wanted, bool) or isinstance(value, bool):
        return as_text(value) == as_text(wanted)
    if isinstance(wanted, (int, float)):
        try:
            return float(value) == wanted
        except ValueError:
            return False
    return as_text(value) == wanted


def as_text(value: Any) -> str:
    """Return a value as texts are compared."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def as_number(value: Any, comparison: Comparison) -> float:
    """Return what a column of numbers is compared with, as a number.

    Raises:
        MirrormaskError: it is none.
    """
    try:
        return float(value)
    except (TypeError, ValueError):
        raise MirrormaskError(
            f"The column {comparison.column!r} holds numbers, and {value!r} is none. Compare it with a number."
        ) from None
