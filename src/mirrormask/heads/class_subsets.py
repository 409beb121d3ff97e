"""Which classes to learn: all, the most frequent ones, some by name, or those that are hardest to tell apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, did_you_mean
from mirrormask.core.similarity import unit_rows
from mirrormask.data.tasks.classified import Classified

Means = Callable[[Sequence[str]], NDArray[np.floating]]
"""From names of classes to the mean vector of each (classes, d)."""


def choose_classes(data: Classified, asked: str, means: Means) -> list[str]:
    """Return the names of the classes to learn, in the order of names.

    Args:
        data: the texts.
        asked: `all`; a number, for the most frequent; `hard-4`, for the four whose mean vectors lie closest together;
            or names with commas between them.
        means: mean vectors of classes, asked for only where closeness decides.

    Raises:
        MirrormaskError: there are no such classes, or fewer than two.
    """
    there = data.counts
    names = list(there)
    hard = re.fullmatch(r"hard-(\d+)", asked)
    if asked in ("", "all"):
        chosen = names
    elif asked.isdigit() and asked not in there:
        chosen = sorted(names, key=lambda name: -there[name])[: _count(int(asked), names, data)]
    elif hard and asked not in there:
        chosen = closest(names, means(names), _count(int(hard[1]), names, data))
    else:
        chosen = [part.strip() for part in asked.split(",") if part.strip()]
        for name in chosen:
            if name not in there:
                raise MirrormaskError(
                    f"{data.source} has no class {name!r}.{did_you_mean(name, there)} It has {', '.join(names[:40])}."
                )
    kept = [name for name in names if name in set(chosen)]
    if len(kept) < 2:
        if len(names) < 2:
            only = f"all rows of {data.source} have the label {names[0]!r}" if names else f"{data.source} has none"
            raise DataError(f"A classifier needs at least two classes, and {only}. Give texts of more classes.")
        raise MirrormaskError(f"A classifier needs at least two classes. Got {asked!r}.")
    return kept


def closest(names: Sequence[str], vectors: NDArray[np.floating], count: int) -> list[str]:
    """Return `count` classes that lie close together: the nearest two, then whichever is nearest to those chosen.

    Example:
        >>> closest(["far", "near", "by"], np.array([[1.0, 0.0], [0.0, 1.0], [0.1, 1.0]]), 2)
        ['near', 'by']
    """
    units = unit_rows(vectors)
    near = units @ units.T
    np.fill_diagonal(near, -np.inf)
    first, second = divmod(int(near.argmax()), len(names))
    chosen = [first, second]
    while len(chosen) < count:
        total = near[chosen].sum(axis=0)
        total[chosen] = -np.inf
        chosen.append(int(total.argmax()))
    return [names[place] for place in sorted(chosen)]


def _count(number: int, names: Sequence[str], data: Classified) -> int:
    if not 2 <= number <= len(names):
        raise MirrormaskError(f"The 'classes' must be 2 to {len(names)}, as many as {data.source} has. Got {number}.")
    return number
