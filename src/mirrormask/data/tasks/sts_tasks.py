"""The semantic textual similarity tasks: pairs of sentences with a gold score, by their hub names."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, one_of
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.text.sources import describe_source, load_rows


@dataclass(frozen=True)
class StsSource:
    """Where a task's pairs come from, and whether the task is one set or is made of subsets."""

    title: str
    dataset: str
    split: str
    single: bool = False


STS_TASKS: dict[str, StsSource] = {
    "sts12": StsSource("STS12", "mteb/sts12-sts", "test"),
    "sts13": StsSource("STS13", "mteb/sts13-sts", "test"),
    "sts14": StsSource("STS14", "mteb/sts14-sts", "test"),
    "sts15": StsSource("STS15", "mteb/sts15-sts", "test"),
    "sts16": StsSource("STS16", "mteb/sts16-sts", "test"),
    "stsb": StsSource("STS-B", "mteb/stsbenchmark-sts", "test", single=True),
    "sickr": StsSource("SICK-R", "mteb/sickr-sts", "test", single=True),
    "stsb-dev": StsSource("STS-B dev", "mteb/stsbenchmark-sts", "validation", single=True),
    "stsb-train": StsSource("STS-B train", "mteb/stsbenchmark-sts", "train", single=True),
    "sickr-dev": StsSource("SICK-R dev", "mteb/sickr-sts", "validation", single=True),
    "sickr-train": StsSource("SICK-R train", "mteb/sickr-sts", "train", single=True),
}

STS_SUITE = ("sts12", "sts13", "sts14", "sts15", "sts16", "stsb", "sickr")
"""The seven tasks of the SimCSE paper's tables, in their order."""

SCALE = (0.0, 5.0)
"""Of the scores of all tasks (SICK-R's begin at 1)."""

_SICKR_WHOLE = 9927


def load_sts(name: str) -> ScoredPairs:
    """Read one task, from the local roots or else from the hub.

    Raises:
        DatasetMissing: the task's data cannot be had.
        DataError: a pair has no text, or a score that is absent or no number; the message names file and row.
    """
    where = STS_TASKS[one_of("task", name, STS_TASKS, of="an STS evaluation")]
    source = describe_source(where.dataset, where.split)
    left: list[str] = []
    right: list[str] = []
    scores: list[float] = []
    subsets: list[str] = []
    for number, row in enumerate(load_rows(where.dataset, where.split), 1):
        left.append(_text(row, "sentence1", number, source))
        right.append(_text(row, "sentence2", number, source))
        scores.append(_score(row, number, source))
        if row.get("subset") not in (None, ""):
            subsets.append(str(row["subset"]))
    if subsets and len(subsets) != len(scores):
        raise DataError(
            f"{source}: {len(scores) - len(subsets)} of {len(scores)} rows have no 'subset'. "
            "Give every row one, or none."
        )
    labels = tuple(subsets) if subsets and not where.single else None
    values = np.array(scores, dtype=np.float64)
    return ScoredPairs(
        name,
        where.split,
        tuple(left),
        tuple(right),
        values,
        labels,
        where.single,
        source,
        _note(name, where, values, labels),
        SCALE,
    )


def _note(name: str, where: StsSource, scores: NDArray[np.float64], subsets: tuple[str, ...] | None) -> str:
    if name == "sickr" and len(scores) == _SICKR_WHOLE:
        return "mteb's 9,927 pairs, all splits together; the SimCSE paper's tables use the 4,927 test pairs"
    if not where.single and subsets is None:
        return "this copy of the data has no subset labels, so only 'all' can be computed"
    return ""


def _text(row: dict[str, Any], column: str, number: int, source: str) -> str:
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{source}, row {number}: {column!r} must be a text that is not empty. Got {value!r}.")
    return value


def _score(row: dict[str, Any], number: int, source: str) -> float:
    value = row.get("score")
    try:
        score = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        score = math.nan
    if isinstance(value, bool) or not math.isfinite(score):
        raise DataError(f"{source}, row {number}: 'score' must be a number. Got {value!r}.")
    return score
