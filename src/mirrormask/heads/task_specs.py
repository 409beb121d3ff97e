"""Tasks to learn together, as a TOML file names them: a table a task, checked whole, all problems reported at once."""

from __future__ import annotations

import dataclasses
import math
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, above, at_least, between, did_you_mean, one_of
from mirrormask.core.fitting import WRONG, fitted, type_name
from mirrormask.training.settings import Settings

KINDS = ("classification", "paraphrase", "similarity")
SAMPLINGS = ("together", "proportional", "square-root", "annealed")
"""A batch of every task each step, or of one task, drawn by the size of its data to the power 1, 1/2, or 1 and less
and less (Stickland and Murray 2019, "BERT and PALs", Section 4.2)."""

TRAINING: dict[str, Any] = {
    "steps": 5000,
    "learning_rate": 1e-5,
    "weight_decay": 0.01,
    "schedule": "constant",
    "max_length": 128,
}
"""Hu 2023, "BERT-CF", Section 5.3, which names no schedule."""


@dataclass(frozen=True)
class Task:
    """One task.

    Args:
        name: of its table.
        kind: `classification` of a text, `paraphrase` (whether two texts mean the same), or `similarity` of two.
        train: a file, or a dataset as `owner/name:split`.
        dev: another one to be measured on, or a share of `train` to set aside.
        text: the column of the text, or the two columns.
        label: the column of the label.
        weight: of its loss.
        batch_size: rows of a step.
        dropout: before its head; None takes the report's (0.3, 0 and 0.1).
        hinge: cosines below it count as it (pairs; None takes the report's 0.7 for paraphrase and 0 for similarity).
        projection: width that pairs are projected to; 0 takes the encoder's.
        faithful: a paraphrase below the hinge teaches nothing, as the report's formula has it; in the loss that it
            cites such a pair is drawn together too.
        classes: names of the classes, where labels are numbers counted from 0 or the training data lacks some.
        scale: lowest and highest label of a similarity.
        skip_empty: leave out rows without a text or a label, and say how many, instead of refusing them.
    """

    name: str
    kind: str
    train: str = ""
    dev: str | float = 0.1
    text: tuple[str, ...] = ()
    label: str = "label"
    weight: float = 1.0
    batch_size: int = 32
    dropout: float | None = None
    hinge: float | None = None
    projection: int = 0
    faithful: bool = False
    classes: tuple[str, ...] = ()
    scale: tuple[float, float] = (0.0, 5.0)
    skip_empty: bool = False

    def __post_init__(self) -> None:
        of = f"the task {self.name}"
        if not self.name.strip() or set(self.name) & set("/\\\0"):  # its predictions are a file of that name
            raise MirrormaskError(
                f"The name of a task is a file name too: without slashes, not empty. Got {self.name!r}."
            )
        one_of("kind", self.kind, KINDS, of=of)
        above("weight", self.weight, 0, of=of)
        at_least("batch_size", self.batch_size, 1, of=of)
        at_least("projection", self.projection, 0, of=of)
        if isinstance(self.dev, float):
            between("dev", self.dev, 0, 1, of=of)
        if self.dropout is not None:
            between("dropout", self.dropout, 0, 1, of=of)
        if self.hinge is not None:
            between("hinge", self.hinge, -1, 1, of=of)
        if not -math.inf < self.scale[0] < self.scale[1] < math.inf:
            raise MirrormaskError(f"The 'scale' of {of} must rise and be finite. Got {list(self.scale)}.")
        if len(self.columns) != (1 if self.kind == "classification" else 2):
            how = "one column" if self.kind == "classification" else "two columns"
            raise MirrormaskError(f"The 'text' of {of} must name {how}. Got {list(self.columns)}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns of its texts."""
        usual = ("text",) if self.kind == "classification" else ("sentence1", "sentence2")
        return self.text or usual

    @property
    def measure(self) -> str:
        """Return what it is measured by."""
        return "Pearson" if self.kind == "similarity" else "accuracy"


@dataclass(frozen=True)
class Plan:
    """What is learned from what.

    Args:
        tasks: by name.
        model: where to start.
        pooling: how token states become one vector; empty takes the model's own.
        sampling: one of `SAMPLINGS`.
        training: settings of the loop.
        seed: same seed, same model.
    """

    tasks: Mapping[str, Task]
    model: str = "mini"
    pooling: str = ""
    sampling: str = "together"
    training: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 42

    def record(self) -> dict[str, Any]:
        """Return the plan as plain data."""
        return {**dataclasses.asdict(self), "tasks": {n: dataclasses.asdict(t) for n, t in self.tasks.items()}}

    def only(self, names: Sequence[str]) -> Plan:
        """Return the plan with some of its tasks; none named keeps all."""
        for name in names:
            one_of("task", name, self.tasks, of="the plan")
        kept = {name: task for name, task in self.tasks.items() if not names or name in names}
        return dataclasses.replace(self, tasks=kept)


def read_plan(path: Path | str) -> Plan:
    """Read a TOML file with `[tasks.NAME]` tables, and perhaps `[model]` and `[training]`.

    Raises:
        MirrormaskError: it is no such file; every problem in it is in the one message.
    """
    try:
        tables = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MirrormaskError(f"There is no file {path}. Name a TOML file with [tasks.NAME] tables.") from None
    except (ValueError, RecursionError, OSError) as error:
        raise MirrormaskError(f"The tasks in {path} cannot be read as TOML: {error}.") from error
    problems = [
        f"There is no table [{name}].{did_you_mean(name, _TABLES)} Known: {', '.join(_TABLES)}."
        for name in tables
        if name not in _TABLES
    ]
    given = {name: tables.get(name, {}) for name in _TABLES}
    problems += [f"[{name}] must be a table." for name, each in given.items() if not isinstance(each, dict)]
    if problems:
        raise _error(path, problems)
    model = _checked(given["model"], {"name": str, "pooling": str}, "model", problems)
    hints = {k: v for k, v in typing.get_type_hints(Settings).items() if k not in ("seeds", "batch_size")}
    training = _checked(given["training"], {**hints, "seed": int, "sampling": str}, "training", problems)
    tasks = {name: task for name, each in given["tasks"].items() if (task := _task(name, each, problems)) is not None}
    seed, sampling = training.pop("seed", 42), training.pop("sampling", "together")
    try:
        one_of("sampling", sampling, SAMPLINGS, of="training")
        Settings(**{**TRAINING, **training})
    except MirrormaskError as error:
        problems.append(str(error))
    if not given["tasks"]:
        problems.append("There is no task. Write a table [tasks.NAME] with kind, train, text and label.")
    if problems:
        raise _error(path, problems)
    return Plan(tasks, model.get("name", "mini"), model.get("pooling", ""), sampling, training, seed)


_TABLES = ("model", "training", "tasks")


def _task(name: str, table: Any, problems: list[str]) -> Task | None:
    if not isinstance(table, dict):
        problems.append(f"[tasks.{name}] must be a table.")
        return None
    hints = {key: hint for key, hint in typing.get_type_hints(Task).items() if key != "name"}
    before = len(problems)
    found = _checked(table, hints, f"tasks.{name}", problems)
    if "kind" not in table:
        problems.append(f"[tasks.{name}] needs a kind: {', '.join(KINDS)}.")
    if len(problems) > before:
        return None
    try:
        return Task(name, **found)
    except MirrormaskError as error:
        problems.append(str(error))
        return None


def _checked(table: dict[str, Any], hints: Mapping[str, Any], name: str, problems: list[str]) -> dict[str, Any]:
    good = {}
    for key, value in table.items():
        if key not in hints:
            problems.append(f"[{name}] has no key {key!r}.{did_you_mean(key, hints)} Known: {', '.join(hints)}.")
        elif (fit := fitted(value, hints[key])) is WRONG:
            problems.append(f"[{name}] {key} must be {type_name(hints[key])}. Got {value!r}.")
        else:
            good[key] = fit
    return good


def _error(path: Path | str, problems: list[str]) -> MirrormaskError:
    if len(problems) == 1:
        return MirrormaskError(f"{path}: {problems[0]}")
    listed = "\n".join(f"  - {problem}" for problem in problems)
    return MirrormaskError(f"{path} has {len(problems)} problems:\n{listed}")
