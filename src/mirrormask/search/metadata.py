"""The other columns of documents, each as an array, so that a condition on a million of them takes a moment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.storage import read_json, write_json

_NAMES = "columns.json"


@dataclass(frozen=True)
class Column:
    """One column of n documents.

    Args:
        values: what stands in it, each once; None is missing.
        codes: which of them each document has (n,).
        numeric: every value is a number, or the text of one.
    """

    values: Sequence[Any]
    codes: NDArray[np.int32]
    numeric: bool

    def numbers(self) -> NDArray[np.float64]:
        """Return the values as numbers; what is missing is no number."""
        return np.array([number_of(value) for value in self.values], dtype=np.float64)


class ColumnsWriter:
    """Gathers the columns of documents, one document after another."""

    def __init__(self) -> None:
        self._rows = 0
        self._codes: dict[str, list[NDArray[np.int32] | list[int]]] = {}
        self._known: dict[str, dict[str, int]] = {}
        self._open: dict[str, list[int]] = {}

    def add(self, metadata: Mapping[str, Any]) -> None:
        """Add the columns of one document."""
        for name in [name for name in metadata if name not in self._known]:
            self._known[name] = {"null": 0}
            self._codes[name] = [np.zeros(self._rows, dtype=np.int32)]
            self._open[name] = []
        for name, known in self._known.items():
            value = json.dumps(metadata.get(name), ensure_ascii=False)
            self._open[name].append(known.setdefault(value, len(known)))
        self._rows += 1
        if self._rows % 65_536 == 0:
            self._settle()

    def write(self, folder: Path) -> list[str]:
        """Write every column below a folder and return their names."""
        self._settle()
        folder.mkdir()
        for number, name in enumerate(self._known):
            np.save(folder / f"{number}.npy", np.concatenate([np.zeros(0, dtype=np.int32), *self._codes[name]]))
            write_json(folder / f"{number}.json", [json.loads(value) for value in self._known[name]])
        write_json(folder / _NAMES, list(self._known))
        return list(self._known)

    def _settle(self) -> None:
        for name, codes in self._open.items():
            self._codes[name].append(np.array(codes, dtype=np.int32))
            codes.clear()


def read_column(folder: Path, name: str) -> Column:
    """Return one of the columns that `names_in` says are there."""
    number = names_in(folder).index(name)
    values = read_json(folder / f"{number}.json")
    return column_of(values, np.load(folder / f"{number}.npy", mmap_mode="r"))


def column_of(values: Sequence[Any], codes: NDArray[Any]) -> Column:
    """Return a column of values, each once, and of which of them each document has."""
    present = [value for value in values if value not in (None, "")]
    numeric = bool(present) and all(not np.isnan(number_of(value)) for value in present)
    return Column(values, codes, numeric)


def column_size(folder: Path, name: str) -> int:
    """Return the bytes of a column's values on disk."""
    return (folder / f"{names_in(folder).index(name)}.json").stat().st_size


def names_in(folder: Path) -> list[str]:
    """Return the names of the columns that were written below a folder."""
    return list(read_json(folder / _NAMES))


def number_of(value: Any) -> float:
    """Return a value, or the text of one, as a number; what is none is not a number."""
    if isinstance(value, (bool, int, float)):
        return float(value)
    try:
        return float(value) if isinstance(value, str) else float("nan")
    except ValueError:
        return float("nan")
