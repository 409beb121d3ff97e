"""Rows of a comparison: the runs of one recipe over seeds, found in folders."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, did_you_mean
from mirrormask.core.storage import read_json, write_json
from mirrormask.evaluation.statistics.seed_bootstrap import TaskPairs
from mirrormask.study.run_scores import SCORES, comparable, read_pairs, read_scores

ORDER = "rows.json"
"""In the folder of a study: the names of its rows, in the order of the command."""

SeedKey = tuple[int, int, int]
"""The seeds of data, dropout and initialization: runs of two rows with the same ones are a pair."""


@dataclass(frozen=True)
class Scored:
    """One run that was measured.

    Args:
        folder: where it is; None where only its scores are left, in the record of a study.
        record: its scores.json.
    """

    folder: Path | None
    record: dict[str, Any] = field(repr=False)

    @property
    def seeds(self) -> SeedKey:
        """Return its three seeds."""
        seeds = self.record["seeds"]
        return seeds["data"], seeds["dropout"], seeds["initialization"]

    @property
    def kept_start(self) -> bool:
        """Return whether training found nothing better than the model it began with."""
        return self.record.get("best_step") == 0

    @cached_property
    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return its cosines, gold scores and pair numbers."""
        if self.folder is None:
            raise MirrormaskError(f"The sentence pairs of {self.record['name']} are not at hand. Name its run folders.")
        return read_pairs(self.folder)

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """Return the rows of its training log; none where it was not trained."""
        if self.folder is None:
            return list(self.record.get("log", ()))
        path = self.folder / "metrics.jsonl"
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        return [row for row in map(json.loads, lines) if not row.get("evaluation")]

    def score(self, task: str) -> float:
        """Return Spearman's correlation on a task, in percent."""
        return float(self.record["tasks"][task]["spearman_percent"])


@dataclass(frozen=True)
class Row:
    """The runs of one recipe.

    Args:
        name: what to call it.
        runs: in the order of their seeds.
    """

    name: str
    runs: tuple[Scored, ...]

    @property
    def tasks(self) -> list[str]:
        """Return the tasks that all its runs were measured on."""
        return [task for task in self.runs[0].record["tasks"] if all(task in run.record["tasks"] for run in self.runs)]

    @property
    def record(self) -> dict[str, Any]:
        """Return the record of its first run, for what all of them share."""
        return self.runs[0].record

    @property
    def has_pairs(self) -> bool:
        """Return whether the cosines of all its runs are at hand, which an interval is drawn from."""
        return all(run.folder is not None for run in self.runs)

    @property
    def is_shaped(self) -> bool:
        """Return whether alignment and uniformity of all its runs were measured."""
        return all((run.record.get("geometry") or {}).get("alignment") is not None for run in self.runs)

    @property
    def kept_start(self) -> int:
        """Return how many of its runs are the model they began with."""
        return sum(run.kept_start for run in self.runs)

    @property
    def is_start(self) -> bool:
        """Return whether all its runs are one and the same model that training did not change."""
        return all(run.kept_start or run.record.get("model") == "untrained" for run in self.runs)

    def only(self, seeds: Iterable[SeedKey]) -> Row:
        """Return the row with the runs of these seeds alone, in this order."""
        by_seed = {run.seeds: run for run in self.runs}
        return Row(self.name, tuple(by_seed[key] for key in seeds))

    def scores(self, tasks: Sequence[str]) -> NDArray[np.float64]:
        """Return the scores in percent (runs, tasks)."""
        return np.array([[run.score(task) for task in tasks] for run in self.runs])

    def averages(self, tasks: Sequence[str]) -> NDArray[np.float64]:
        """Return every run's mean over the tasks, in percent (runs,)."""
        means: NDArray[np.float64] = self.scores(tasks).mean(axis=1)
        return means

    def task_pairs(self, tasks: Sequence[str]) -> dict[str, TaskPairs]:
        """Return cosines of all runs, gold scores and pairs of each task, for a bootstrap."""
        return {
            task: TaskPairs(
                np.stack([run.pairs[f"{task}.cosine"] for run in self.runs]),
                self.runs[0].pairs[f"{task}.gold"],
                self.runs[0].pairs[f"{task}.pair"],
            )
            for task in tasks
        }


def find_rows(paths: Sequence[Path | str]) -> list[Row]:
    """Return the rows under the given folders: a run, the folder of a recipe's runs, or the folder of a whole study.

    Rows come in the order of the folders, and inside one in the order that 'mirrormask run' was given their recipes.

    Raises:
        DataError: a folder is not there or holds no run that was measured.
        MirrormaskError: two different runs of one row have the same seeds, or runs of one row differ in their settings
            or in the text they learned from.
    """
    found: dict[str, dict[SeedKey, Scored]] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            raise DataError(f"There is no folder {path}.{did_you_mean(path.name, near)}")
        scored = [(read_scores(file.parent), file.parent) for file in sorted(path.rglob(SCORES))]
        if not scored:
            raise DataError(
                f"{path} holds no run with scores. Runs to compare come from 'mirrormask run RECIPE --seeds 1,2,3'."
            )
        named = {name: place for place, name in enumerate(row_order(path))}
        for record, folder in sorted(scored, key=lambda each: named.get(each[0]["name"], len(named))):
            run = Scored(folder, record)
            runs = found.setdefault(run.record["name"], {})
            other = runs[run.seeds].folder if run.seeds in runs else None
            if other is not None and other.resolve() != folder.resolve():
                raise MirrormaskError(f"{folder} and {other} are the same row and seed. Name only one of them.")
            runs[run.seeds] = run
    return [_row(name, runs) for name, runs in found.items()]


def chosen_rows(rows: Sequence[Row], names: Sequence[str]) -> list[Row]:
    """Return the rows of these names, in their order; all where none is named.

    Raises:
        MirrormaskError: there is no such row.
    """
    by_name = {row.name: row for row in rows}
    for name in names:
        if name not in by_name:
            raise MirrormaskError(
                f"There is no row {name!r}.{did_you_mean(name, by_name)} There are: {', '.join(by_name)}."
            )
    return [by_name[name] for name in dict.fromkeys(names)] if names else list(rows)


def row_order(out: Path) -> list[str]:
    """Return the rows of a folder in the order their recipes were named; none where that was not kept."""
    try:
        return [str(name) for name in read_json(out / ORDER)]
    except (OSError, ValueError, TypeError):
        return []


def keep_order(out: Path, names: Iterable[str]) -> None:
    """Keep the order in which recipes were named, those of earlier commands first."""
    before = row_order(out)
    order = list(dict.fromkeys([*before, *names]))
    if order != before:
        write_json(out / ORDER, order)


def _row(name: str, runs: dict[SeedKey, Scored]) -> Row:
    ordered = tuple(runs[key] for key in sorted(runs))
    first, *others = [{**comparable(run.record["recipe"]), "seeds": None} for run in ordered]
    for run, recipe in zip(ordered[1:], others, strict=True):
        if recipe != first:
            changed = ", ".join(sorted(key for key in first if first[key] != recipe.get(key)))
            raise MirrormaskError(
                f"The runs {ordered[0].folder} and {run.folder} of row {name!r} differ in more than their seeds "
                f"({changed}). Compare them as rows of their own."
            )
        if run.record.get("data") != ordered[0].record.get("data"):
            raise MirrormaskError(
                f"The runs {ordered[0].folder} and {run.folder} of row {name!r} learned from different text under one "
                "name. Repeat one of them, or compare them as rows of their own."
            )
    return Row(name, ordered)
