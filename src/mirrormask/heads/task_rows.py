"""The rows of a task: read from any table, every label checked against what its kind can mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import DataError, did_you_mean
from mirrormask.core.seeding import derive
from mirrormask.data.pairs import Examples, Rows
from mirrormask.data.tasks.classified import rows_of, text_cell
from mirrormask.data.text.files import check_columns
from mirrormask.heads.label_splits import stratified
from mirrormask.heads.task_specs import Task

YES, NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "-1", "-1.0", "false", "no")
"""What says that two texts mean the same, and that they do not."""


@dataclass(frozen=True)
class TaskRows:
    """Texts of a task with their labels.

    Args:
        source: where they come from, for messages.
        columns: the texts (n,) of each column.
        labels: numbers of classes, 0 and 1, or similarities (n,).
        classes: names of the classes, of a classification.
        skipped: rows without a text or a label that were left out.
    """

    source: str
    columns: tuple[tuple[str, ...], ...]
    labels: NDArray[np.float64]
    classes: tuple[str, ...] = ()
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64]) -> TaskRows:
        """Return some of the rows."""
        columns = tuple(tuple(column[row] for row in rows) for column in self.columns)
        return TaskRows(self.source, columns, self.labels[rows], self.classes, self.skipped)


class TokenizedTask(Examples):
    """The rows of a task, tokenized and held in memory.

    Args:
        tokenizer: of the encoder.
        rows: the texts and labels.
    """

    def __init__(self, tokenizer: Any, rows: TaskRows) -> None:
        encoder = Encoder(tokenizer)
        self._columns = [
            [np.frombuffer(ids, dtype=encoder.dtype).astype(np.int64) for ids in encoder(list(column))]
            for column in rows.columns
        ]
        self._labels = rows.labels.astype(np.int64 if rows.classes else np.float32)

    def __len__(self) -> int:
        return len(self._labels)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given rows, column by column."""
        return tuple([column[number] for number in examples.tolist()] for column in self._columns)

    def labels(self, examples: Rows) -> Any:
        """Return their labels."""
        return self._labels[examples]


def read_rows(task: Task, source: str, *, classes: Sequence[str] = ()) -> TaskRows:
    """Read the rows of a task.

    Args:
        task: what its columns and labels are.
        source: a file, or a dataset as `owner/name:split`.
        classes: names of the classes that there may be; empty takes the task's, or those that are found.

    Raises:
        DataError: no such file or column, a text that is empty, or a label outside its range; row and value are named.
    """
    texts: list[list[str]] = [[] for _ in task.columns]
    labels: list[Any] = []
    skipped = 0
    for number, row in enumerate(rows_of(source), 1):
        check_columns(source, (*task.columns, task.label), list(row), f" in row {number}")
        if task.skip_empty and any(row[name] in (None, "") for name in (*task.columns, task.label)):
            skipped += 1
            continue
        where = f"{source}, row {number}"
        for column, found in zip(task.columns, texts, strict=True):
            found.append(text_cell(row[column], column, where))
        labels.append(_label(task, row[task.label], where))
    columns = tuple(tuple(column) for column in texts)
    if not labels:
        raise DataError(f"{source} has no row with a text and a label.")
    if task.kind != "classification":
        return TaskRows(source, columns, np.array(labels, dtype=np.float64), skipped=skipped)
    known = tuple(classes) or task.classes or tuple(sorted(set(labels), key=_order))
    if len(known) < 2:
        raise DataError(f"All rows of {source} have the {task.label} {known[0]!r}. Give rows of two classes or more.")
    return TaskRows(source, columns, _numbers(task, labels, known, source), known, skipped)


def split_rows(task: Task, *, seed: int) -> tuple[TaskRows, TaskRows]:
    """Return the rows to learn from and those to be measured on.

    Args:
        task: its `dev` is a file, or a share of the rows, the same of every class.
        seed: which ones are set aside.
    """
    if not task.train:
        raise DataError(f"The task {task.name} has nothing to learn from. Name a file or dataset with train = ….")
    whole = read_rows(task, task.train)
    if isinstance(task.dev, str):
        return whole, read_rows(task, task.dev, classes=whole.classes)
    groups = np.zeros(len(whole), np.int64) if task.kind == "similarity" else whole.labels.astype(np.int64)
    aside = stratified(groups, task.dev, derive(seed, "dev", task.name))
    if aside.sum() < 2:
        raise DataError(
            f"A share of {task.dev:g} sets {int(aside.sum())} of the {len(whole)} rows of {whole.source} aside, and at "
            "least 2 are needed to measure anything. Give a larger share, or name a file with dev = …."
        )
    return whole.take(np.flatnonzero(~aside)), whole.take(np.flatnonzero(aside))


def _label(task: Task, value: Any, where: str) -> Any:
    cell = str(value).strip()
    if task.kind == "classification":
        if value is None or not cell or cell.lower() == "nan":
            raise DataError(f"{where}: {task.label!r} must be the name or number of a class. Got {value!r}.")
        return cell.removesuffix(".0") if cell.removesuffix(".0").isdigit() else cell
    if task.kind == "paraphrase":
        if cell.lower() not in (*YES, *NO):
            raise DataError(f"{where}: {task.label!r} must be 1 (the same meaning) or 0. Got {value!r}.")
        return float(cell.lower() in YES)
    try:
        number = float(cell)
    except ValueError:
        number = math.nan
    low, high = task.scale
    if not low <= number <= high:
        raise DataError(
            f"{where}: {task.label!r} must be a number from {low:g} to {high:g}. Got {value!r}. Another scale is named "
            f"in [tasks.{task.name}] with scale = [low, high]."
        )
    return number


def _numbers(task: Task, labels: Sequence[str], known: Sequence[str], source: str) -> NDArray[np.float64]:
    place = {name: number for number, name in enumerate(known)}
    counted = {str(number): number for number in range(len(known))}
    found = np.empty(len(labels))
    for row, label in enumerate(labels):
        number = place.get(label, counted.get(label) if task.classes else None)
        if number is None:
            raise DataError(
                f"{source}, row {row + 1}: {task.label!r} must be one of {', '.join(itertools.islice(known, 12))}. Got "
                f"{label!r}.{did_you_mean(label, known)}"
            )
        found[row] = number
    return found


def _order(name: str) -> tuple[int, float, str]:
    return (0, float(name), name) if name.lstrip("-").isdigit() else (1, 0.0, name)
