"""The masked inputs of sentences: each unit alone, each unordered pair of units, and what to read from each.

From the one input in which i and j are masked, the states at both are read: a sentence of n units needs
n (n + 1) / 2 inputs, and one more, with nothing masked, where a root that is never masked is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.probing.units import Units, spread

Index = NDArray[np.int64]

NONE = -1
"""In place of a unit: nothing masked. In place of a column: a reference."""


@dataclass(frozen=True)
class MaskedInputs:
    """The inputs of sentences and the states to read from them; references stand before what is compared with them.

    Args:
        source: the sentence of each input (m,).
        first: a masked unit of it, or NONE (m,).
        second: another masked unit of it, or NONE (m,).
        row: the input each state is read from, ascending (q,).
        place: the position it is read at (q,).
        unit: the unit this position belongs to (q,).
        column: the unit whose masking it shows, or NONE for the state all others are compared with (q,).
    """

    source: Index
    first: Index
    second: Index
    row: Index
    place: Index
    unit: Index
    column: Index

    def __len__(self) -> int:
        return len(self.source)


def masked_inputs(sentences: Sequence[Units], *, kept_root: bool = False, reach: int | None = None) -> MaskedInputs:
    """Return all inputs of sentences of one length.

    Args:
        sentences: the sentences.
        kept_root: their first unit is a root that is read but never masked.
        reach: how far apart two units of a pair may be; by default any distance.

    Example:
        >>> units = Units(np.arange(5), np.array([1, 2, 3]), np.array([1, 1, 1]))
        >>> inputs = masked_inputs([units])
        >>> list(zip(inputs.first.tolist(), inputs.second.tolist()))
        [(0, -1), (1, -1), (2, -1), (0, 1), (0, 2), (1, 2)]
    """
    root = int(kept_root)
    counts = [len(units) for units in sentences]
    alone = [np.arange(root, n) for n in counts]
    pairs = [_pairs(n - root, reach) for n in counts]
    none = [np.full(root, NONE) for _ in counts]
    first = [*none, *alone, *(a + root for a, _ in pairs)]
    second = [*none, *(np.full(len(a), NONE) for a in alone), *(b + root for _, b in pairs)]
    numbers = np.concatenate([np.arange(len(counts))] * 3)
    source = np.repeat(numbers, [len(part) for part in first])
    return _with_reads(sentences, source, np.concatenate(first), np.concatenate(second), kept_root)


def _pairs(n: int, reach: int | None) -> tuple[Index, Index]:
    """Return i and j of all i < j < n that are at most `reach` apart."""
    if reach is None or reach >= n:
        one, other = np.triu_indices(n, k=1)
        return one, other
    first = np.arange(n)
    counts = np.minimum(reach, n - 1 - first)
    return np.repeat(first, counts), spread(first + 1, counts)


def _with_reads(
    sentences: Sequence[Units], source: Index, first: Index, second: Index, kept_root: bool
) -> MaskedInputs:
    begins = np.cumsum([0, *(len(units) for units in sentences)])[:-1]
    starts = np.concatenate([units.starts for units in sentences])
    sizes = np.concatenate([units.sizes for units in sentences])
    row = np.arange(len(source))
    single = second == NONE
    masked = first != NONE
    # (which inputs, the unit read there, the unit whose masking it shows)
    reads = [
        (row[masked], first[masked], second[masked]),
        (row[~single], second[~single], first[~single]),
    ]
    if kept_root:
        reads.append((row[single], np.zeros(int(single.sum()), dtype=np.int64), first[single]))
    rows, units, columns = (np.concatenate(parts) for parts in zip(*reads, strict=True))
    order = np.argsort(rows, kind="stable")
    rows, units, columns = rows[order], units[order], columns[order]
    at = begins[source[rows]] + units
    times = sizes[at]
    return MaskedInputs(
        source=source,
        first=first,
        second=second,
        row=np.repeat(rows, times),
        place=spread(starts[at], times),
        unit=np.repeat(units, times),
        column=np.repeat(columns, times),
    )
