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

from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.evaluation.statistics.seed_bootstrap import TaskPairs
from mirrormask.study.scoring import SCORES, comparable, read_pairs, read_scores

SeedKey = tuple[int, int, int]
"""The seeds of data, dropout and initialization: runs of two rows with the same ones are a pair."""


@dataclass(frozen=True)
class Scored:
    """One run that was measured.

    Args:
        folder: where it is.
        record: its scores.json.
    """

    folder: Path
    record: dict[str, Any] = field(repr=False)

    @property
    def seeds(self) -> SeedKey:
        """Return its three seeds."""
        seeds = self.record["seeds"]
        return seeds["data"], seeds["dropout"], seeds["initialization"]

    @cached_property
    def pairs(self) -> dict[str, NDArray[Any]]:
        """Return its cosines, gold scores and pair numbers."""
        return read_pairs(self.folder)

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """Return the rows of its training log; none where it was not trained."""
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

    Raises:
        MirrormaskError: a folder holds no run that was measured, two different runs of one row have the same seeds, or
            runs of one row differ in their settings or in the text they learned from.
    """
    found: dict[str, dict[SeedKey, Scored]] = {}
    for path in map(Path, paths):
        if not path.is_dir():
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            raise MirrormaskError(f"There is no folder {path}.{did_you_mean(path.name, near)}")
        scored = sorted(path.rglob(SCORES))
        if not scored:
            raise MirrormaskError(
                f"{path} holds no run with scores. Runs to compare come from 'mirrormask run RECIPE --seeds 1,2,3'."
            )
        for file in scored:
            run = Scored(file.parent, read_scores(file.parent))
            runs = found.setdefault(run.record["name"], {})
            if run.seeds in runs and runs[run.seeds].folder.resolve() != run.folder.resolve():
                raise MirrormaskError(
                    f"{run.folder} and {runs[run.seeds].folder} are the same row and seed. Name only one of them."
                )
            runs[run.seeds] = run
    return [_row(name, runs) for name, runs in found.items()]


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
