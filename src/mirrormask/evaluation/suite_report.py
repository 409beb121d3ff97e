"""What models scored on the tasks of a suite: every task, the average over them, and which were not measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mirrormask.core.errors import one_of
from mirrormask.core.seeding import derive
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import Comparison, averaged, compare
from mirrormask.evaluation.statistics.resamples import Rows, Statistic, on_rows
from mirrormask.evaluation.suites import Suite, SuiteTask
from mirrormask.evaluation.vectors import TextVectors


@dataclass(frozen=True)
class SuiteReport:
    """The tasks of one suite under every model.

    Args:
        name: of the suite.
        suite: what it measures.
        models: names of the models; differences are to the first.
        tasks: what was measured, in the suite's order.
        scores: for each of them every metric, with intervals and differences.
        average: the mean over exactly these tasks.
        skipped: for every task asked that is not measured, why.
    """

    name: str
    suite: Suite
    models: tuple[str, ...]
    tasks: tuple[SuiteTask, ...]
    scores: Mapping[str, Comparison]
    average: Comparison
    skipped: Mapping[str, str]

    @property
    def on(self) -> str:
        """Return what the verdict is about, so that an average is never taken for another one."""
        titles = ", ".join(task.title for task in self.tasks)
        if len(self.tasks) == 1:
            return titles
        asked = len(self.tasks) + len(self.skipped)
        return f"the average over {f'{len(self.tasks)} of {asked} tasks ' if self.skipped else ''}({titles})"

    @property
    def named(self) -> dict[str, Comparison]:
        """Return what is shown under which name: every task, and the average of several."""
        found = {task.title: self.scores[task.name] for task in self.tasks}
        return {**found, "average": self.average} if len(found) > 1 else found

    @property
    def skipped_titles(self) -> list[str]:
        """Return the names of the skipped tasks as papers write them."""
        return [self.suite.tasks[name] for name in self.skipped]

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; every metric is in percent as the keys say."""
        tasks = {
            task.name: {
                "title": task.title,
                "source": task.source,
                self.suite.unit: task.units,
                "note": task.note,
                **self.scores[task.name].to_dict(),
            }
            for task in self.tasks
        }
        average = {"over": [task.name for task in self.tasks], **self.average.to_dict()}
        return {"primary": self.suite.primary, "tasks": tasks, "average": average, "skipped": dict(self.skipped)}


def load_suite(name: str, suite: Suite, asked: Sequence[str] = ()) -> tuple[list[SuiteTask], dict[str, str]]:
    """Return the tasks whose data is there, and for every other one why it is not.

    Args:
        name: of the suite, for messages.
        suite: what to read.
        asked: names of tasks; none means all.
    """
    found: list[SuiteTask] = []
    skipped: dict[str, str] = {}
    for task in asked or suite.tasks:
        one_of("task", task, suite.tasks, of=f"the suite {name}")
        try:
            found.append(suite.load(task))
        except DatasetMissing as error:
            skipped[task] = str(error)
    return found, skipped


def score_suite(
    name: str,
    suite: Suite,
    tasks: Sequence[SuiteTask],
    skipped: Mapping[str, str],
    models: Sequence[str],
    vectors: Sequence[TextVectors],
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> SuiteReport:
    """Score models on tasks whose texts they have already encoded; all tasks are resampled together, each by itself."""
    ends = np.cumsum([task.units for task in tasks])
    strata = np.split(np.arange(ends[-1]), ends[:-1])
    metrics: dict[str, list[Statistic]] = {}
    kept: dict[str, list[str]] = {}
    for task, rows in zip(tasks, strata, strict=True):
        drawn = Rows(rows)
        found = [task.statistics(one, seed=seed) for one in vectors]
        kept[task.name] = list(found[0])
        for metric in found[0]:
            metrics[f"{task.name} {metric}"] = [on_rows(drawn, one[metric]) for one in found]
    measured = compare(
        models, metrics, int(ends[-1]), resamples=resamples, seed=derive(seed, f"suite {name}"), strata=strata
    )
    scores = {
        task.name: Comparison(
            measured.models,
            task.units,
            {metric: measured.values[f"{task.name} {metric}"] for metric in kept[task.name]},
            {metric: measured.resamples[f"{task.name} {metric}"] for metric in kept[task.name]},
        )
        for task in tasks
    }
    average = averaged(list(scores.values()), int(ends[-1]))
    return SuiteReport(name, suite, tuple(models), tuple(tasks), scores, average, dict(skipped))
