"""One base exception, and the checks that phrase it: name, rule, value, way out."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

Number = TypeVar("Number", int, float)


class MirrormaskError(Exception):
    """Anything the user can put right; the message says how, and the CLI prints it without a traceback."""

    exit_code = 2


class MirrormaskWarning(UserWarning):
    """Something that makes a result worth less than it looks; the CLI prints it once, and `--json` lists it."""


class DataError(MirrormaskError):
    """A corpus, dataset or task that cannot be read as asked."""

    exit_code = 3


class Unreachable(DataError):
    """A server that data is kept on cannot be asked now."""


class ModelError(MirrormaskError):
    """A model name, folder or checkpoint that cannot be used."""

    exit_code = 4


class TrainingError(MirrormaskError):
    """A run that had to stop: a loss that is no number, a disk that is full."""

    exit_code = 5


class WorkerError(MirrormaskError):
    """Workers that were lost: what they did is kept."""

    exit_code = 5


class MissingExtra(MirrormaskError):
    """A feature whose optional dependency is not installed."""

    def __init__(self, package: str, extra: str, what: str) -> None:
        super().__init__(f'{what} needs the package {package!r}. Install it with: pip install "mirrormask[{extra}]"')


def above(name: str, value: Number, low: float, *, of: str) -> Number:
    """Return `value` if it is above `low`.

    Example:
        >>> above("temperature", 0, 0, of="info-nce")
        Traceback (most recent call last):
        mirrormask.core.errors.MirrormaskError: The 'temperature' of info-nce must be above 0. Got 0.
    """
    if not _finite(name, value, of) > low:
        raise MirrormaskError(f"The {name!r} of {of} must be above {low:g}. Got {value!r}.")
    return value


def at_least(name: str, value: Number, low: float, *, of: str) -> Number:
    """Return `value` if it is `low` or more."""
    if not _finite(name, value, of) >= low:
        raise MirrormaskError(f"The {name!r} of {of} must be at least {low:g}. Got {value!r}.")
    return value


def between(name: str, value: Number, low: float, high: float, *, of: str) -> Number:
    """Return `value` if it lies in [low, high)."""
    if not low <= value < high:
        raise MirrormaskError(f"The {name!r} of {of} must be at least {low:g} and below {high:g}. Got {value!r}.")
    return value


def _finite(name: str, value: Number, of: str) -> Number:
    if value == float("inf"):
        raise MirrormaskError(f"The {name!r} of {of} must be finite. Got {value!r}.")
    return value


def one_of(name: str, value: str, choices: Iterable[str], *, of: str) -> str:
    """Return `value` if it is one of `choices`; the error offers the nearest."""
    choices = list(choices)
    if value not in choices:
        raise MirrormaskError(
            f"The {name!r} of {of} must be one of {', '.join(choices)}. Got {value!r}.{did_you_mean(value, choices)}"
        )
    return value


def did_you_mean(name: str, choices: Iterable[str]) -> str:
    """Return ' Did you mean …?' for the nearest choice, or nothing.

    Example:
        >>> did_you_mean("info-nec", ["info-nce", "sup-con"])
        " Did you mean 'info-nce'?"
    """
    near = difflib.get_close_matches(name, list(choices), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
