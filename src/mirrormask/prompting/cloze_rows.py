"""Rows of a file as examples of a task: the texts of the fields, the label, choices of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, did_you_mean, one_of
from mirrormask.data.text.columns import choose_column
from mirrormask.data.text.files import records
from mirrormask.data.text.sources import load_rows
from mirrormask.prompting.benchmark_rows import ROWS
from mirrormask.prompting.cloze_task import ClozeTask
from mirrormask.prompting.template import Template


@dataclass(frozen=True)
class Examples:
    """Texts of a task.

    Args:
        fields: the texts of each row by the name of their field.
        labels: of each row; empty where the file has none.
        choices: each row's own words, where the labels have none.
        groups: what belongs together when it is scored, such as the answers to one question.
        source: for messages.
    """

    fields: list[dict[str, str]] = field(repr=False)
    labels: list[str] = field(default_factory=list, repr=False)
    choices: list[tuple[str, ...]] | None = field(default=None, repr=False)
    groups: list[str] = field(default_factory=list, repr=False)
    source: str = ""

    def __len__(self) -> int:
        return len(self.fields)

    def take(self, rows: Iterable[int]) -> Examples:
        """Return some of the examples."""
        chosen = list(rows)
        return Examples(
            [self.fields[i] for i in chosen],
            [self.labels[i] for i in chosen] if self.labels else [],
            None if self.choices is None else [self.choices[i] for i in chosen],
            [self.groups[i] for i in chosen] if self.groups else [],
            self.source,
        )

    def numbers(self, labels: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of each row's label; of a row with choices, that of the right one."""
        if not self.labels:
            raise DataError(f"{self.source} has no labels, and they are needed here.")
        place = {label: number for number, label in enumerate(labels)}
        return np.array([place[label] if labels else int(label) for label in self.labels], dtype=np.int64)


LABELS = ("needed", "known", "none")
"""Whether every row must have a label that the task knows, or labels are read only if all are known, or not at all."""


def read_examples(
    path: Path | str, task: ClozeTask, *, labels: str = "needed", limit: int | None = None, column: str = ""
) -> Examples:
    """Read a file for a task.

    Args:
        path: any format of `data.text.files`.
        task: names the columns.
        labels: one of `LABELS`.
        limit: only so many rows.
        column: of the labels, where it is not the task's.

    Raises:
        DataError: a column is missing, a text is empty or a label unknown; the message names the row.
    """
    return examples_of(records(path), task, str(path), labels=labels, limit=limit, column=column)


def load_examples(task: ClozeTask, split: str) -> Examples:
    """Return a split of a built-in task's data, from the local roots or else from the hub."""
    if not task.data:
        raise DataError(f"The task {task.name} has no data of its own. Name a file.")
    name = task.splits.get(split, split)
    return examples_of(load_rows(task.data, name), task, f"{task.data} ({name})")


def examples_of(
    rows: Iterable[Mapping[str, Any]],
    task: ClozeTask,
    source: str,
    *,
    labels: str = "needed",
    limit: int | None = None,
    column: str = "",
) -> Examples:
    """Return rows as examples of a task."""
    label = column
    one_of("labels", labels, LABELS, of="a task's examples")
    wanted = tuple(dict.fromkeys(name for each in task.questions for name in Template(each.template).fields))
    found = Examples([], [], [], [], source)
    columns: dict[str, list[str]] = {}
    read = labels != "none"
    for number, raw in enumerate(rows, 1):
        for row in ROWS[task.reader](raw):
            if not columns:
                label = label or next((each for each in task.label if each in row), task.label[0])
                columns = _columns(task, wanted, row, source, label)
                read = read and (labels == "needed" or label in row)
                if read and label not in row:
                    raise DataError(
                        f"{source} has no column {label!r} with labels.{did_you_mean(label, list(row))} "
                        f"Its columns are: {', '.join(row)}. Name it with --label-column."
                    )
            if limit is not None and len(found) >= limit:
                return found if found.choices else replace(found, choices=None)
            found.fields.append({name: _text(row, columns[name], number, source) for name in wanted})
            if read:
                spelled = _label(row.get(label), task, number, source, label, strict=labels == "needed")
                read = spelled is not None
                found.labels.append(spelled or "")
                if not read:
                    found.labels.clear()
            if "choices" in row and found.choices is not None:
                found.choices.append(tuple(row["choices"]))
            if "group" in row:
                found.groups.append(f"{number} {row['group']}")
    if not found.fields:
        raise DataError(f"{source} has no rows for the task {task.name}. Give a file with at least one.")
    return found if found.choices else replace(found, choices=None)


def _columns(
    task: ClozeTask, wanted: Sequence[str], row: Mapping[str, Any], source: str, label: str
) -> dict[str, list[str]]:
    """Return the columns of every field; a lone {text} may be any column that plainly holds the text."""
    found: dict[str, list[str]] = {}
    for name in wanted:
        asked = list(task.columns.get(name, [name]))
        if name == "text" and len(wanted) == 1 and asked == ["text"] and "text" not in row:
            others = {key: value for key, value in row.items() if key != label}
            asked = choose_column(source, [others], []) if others else asked
        if "text" in row and not any(each in row for each in asked):
            asked = ["text"] if name == "text" else asked
        for each in asked:
            if each not in row:
                raise DataError(
                    f"{source} has no column {each!r} for the field {{{name}}}.{did_you_mean(each, list(row))} "
                    f"Its columns are: {', '.join(row)}."
                )
        found[name] = asked
    return found


def _text(row: Mapping[str, Any], columns: Sequence[str], number: int, source: str) -> str:
    parts = []
    for column in columns:
        value = row.get(column)
        if not isinstance(value, str) or not value.strip():
            raise DataError(f"{source}, row {number}: {column!r} must be a text that is not empty. Got {value!r:.80}.")
        parts.append(value.strip())
    return " ".join(parts)


def _label(value: Any, task: ClozeTask, number: int, source: str, column: str, *, strict: bool) -> str | None:
    """Return a label as the task spells it; None where it is unknown and that is no error."""
    text = f"{value:g}" if isinstance(value, float) else str(value).strip()
    text = task.same.get(text, text)
    if task.labels and text not in task.labels:
        if not strict:
            return None
        raise DataError(
            f"{source}, row {number}: the label {value!r:.40} in {column!r} is none of {', '.join(task.labels)}."
            f"{did_you_mean(text, task.labels)} Name its words with --labels, or map it in the task's table 'same'."
        )
    return text
