"""Postings turned round: which terms each passage holds, and how often.

A query that is asked again of a few passages reads their terms here, and not the passages of all its terms.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.text.store import ArrayWriter

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

FILES = ("begins", "terms", "times")
_BLOCK = 16_384  # passages renumbered at a time


@dataclass(frozen=True)
class ByPassage:
    """The terms of n passages, one passage after another.

    Args:
        begins: where the terms of each passage begin, and the end of the last ones (n + 1,).
        terms: numbers of the terms that each passage holds, ascending (p,).
        times: how often it holds them (p,).
    """

    begins: Numbers
    terms: NDArray[np.int32]
    times: NDArray[np.uint16]

    @classmethod
    def of(cls, starts: Numbers, passages: NDArray[np.int32], counts: NDArray[np.uint16], many: int) -> ByPassage:
        """Return what postings of `many` passages are when they are turned round."""
        order = np.argsort(passages, kind="stable")
        terms = np.repeat(np.arange(len(starts) - 1, dtype=np.int32), np.diff(starts))
        return cls(np.append(0, np.cumsum(np.bincount(passages, minlength=many))), terms[order], counts[order])

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is there."""
        for name in FILES:
            np.save(folder / f"{name}.npy", getattr(self, name))

    def places(self, rows: Numbers) -> tuple[Numbers, Numbers]:
        """Return where the terms of some passages stand, one passage after another, and where each passage's end.

        Args:
            rows: passages (m,).
        """
        first = self.begins[rows]
        sizes = self.begins[rows + 1] - first
        ends = np.cumsum(sizes)
        return np.arange(ends[-1] if len(ends) else 0) + np.repeat(first - ends + sizes, sizes), ends


def write_joined(parts: Iterable[tuple[ByPassage, Numbers, Mask]], folder: Path) -> None:
    """Write the passages of several parts one after another.

    Args:
        parts: each with the new numbers of its terms, and which of its passages stay.
        folder: exists.
    """
    writers: dict[str, Any] = {
        name: ArrayWriter(folder / f"{name}.npy", kind)
        for name, kind in zip(FILES, (np.int64, np.int32, np.uint16), strict=True)
    }
    end = 0
    writers["begins"].extend([0])
    for part, numbers, mask in parts:
        for start in range(0, len(mask), _BLOCK):
            places, ends = part.places(start + np.flatnonzero(mask[start : start + _BLOCK]))
            writers["begins"].extend(end + ends)
            writers["terms"].extend(numbers[part.terms[places]])
            writers["times"].extend(part.times[places])
            end += len(places)
    for writer in writers.values():
        writer.finish().close()
