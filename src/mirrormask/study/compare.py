"""Compare rows of runs over seeds: is one method better than another, or did it have better seeds?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, Difference
from mirrormask.evaluation.statistics.seed_bootstrap import resampled_averages, seed_difference
from mirrormask.evaluation.statistics.significance import ALPHA, fewest_pairs, holm, least_p, pairs_needed, sign_flip_p
from mirrormask.study.rows import Row, SeedKey

AVERAGE = "average"
"""What the mean over the compared tasks is called among them."""


@dataclass(frozen=True)
class Against:
    """A row against the baseline, on one task or on the average, over the seeds that both have.

    Args:
        pairs: seeds that both have.
        mean: of the differences, in points.
        deviation: of the differences, over seeds.
        p: two-sided, by sign flips over the seeds.
        corrected: the same by Holm over all rows compared.
        least: the smallest p that so many seeds can show.
        needed: about how many seeds would show a difference like this one, corrected; None where a thousand would not.
        bootstrap: over sentence pairs and seeds; on the average alone.
        bootstrap_corrected: its p by Holm over all rows.
    """

    pairs: int
    mean: float
    deviation: float
    p: float
    corrected: float
    least: float
    needed: int | None
    bootstrap: Difference | None = None
    bootstrap_corrected: float | None = None

    @property
    def direction(self) -> int:
        """Return 1 for better, -1 for worse and 0 where the seeds do not show it."""
        return 0 if self.corrected >= ALPHA else 1 if self.mean > 0 else -1

    def to_dict(self) -> dict[str, Any]:
        """Return the test, JSON-able."""
        plain = {key: value for key, value in vars(self).items() if key != "bootstrap"}
        return {**plain, "bootstrap": None if self.bootstrap is None else self.bootstrap.to_dict()}


@dataclass(frozen=True)
class SeedComparison:
    """Rows over seeds, and every row against the first.

    Args:
        rows: the first is the baseline.
        tasks: compared, in order.
        averaged: those of them that the average is over.
        tests: for each task and the average, one per row after the first.
        alpha: the p-value to fall below.
    """

    rows: tuple[Row, ...]
    tasks: tuple[str, ...]
    averaged: tuple[str, ...]
    tests: Mapping[str, tuple[Against, ...]] = field(repr=False)
    alpha: float = ALPHA

    @property
    def titles(self) -> list[str]:
        """Return the tasks as papers write them."""
        return [STS_TASKS[task].title for task in self.tasks]

    @property
    def average_title(self) -> str:
        """Return what the average is over."""
        return ", ".join(STS_TASKS[task].title for task in self.averaged)

    def values(self, row: Row, task: str) -> NDArray[np.float64]:
        """Return the scores of every run of a row on a task or on the average, in percent."""
        return row.averages(self.averaged) if task == AVERAGE else row.scores([task])[:, 0]

    def verdict(self, row: int, task: str = AVERAGE) -> str:
        """Return the answer for a row after the first, such as 'better, p = 0.010'."""
        from mirrormask.study.verdicts import verdict

        return verdict(self.tests[task][row - 1], len(self.rows) - 1, self.alpha)

    def notes(self) -> list[str]:
        """Return what the numbers cannot say."""
        from mirrormask.study.verdicts import notes

        return notes(self)

    def to_dict(self) -> dict[str, Any]:
        """Return everything, JSON-able; scores are in percent."""
        rows = []
        for place, row in enumerate(self.rows):
            found = {}
            for task in (*self.tasks, AVERAGE):
                values = self.values(row, task)
                found[task] = {"mean": float(values.mean()), "deviation": deviation(values), "values": values.tolist()}
            tests = {task: self.tests[task][place - 1].to_dict() for task in self.tests} if place else None
            verdict = self.verdict(place) if place else "baseline"
            seeds = [list(run.seeds) for run in row.runs]
            rows.append({"name": row.name, "seeds": seeds, "scores": found, "tests": tests, "verdict": verdict})
        return {
            "schema": "mirrormask.comparison/1",
            "version": __version__,
            "baseline": self.rows[0].name,
            "averaged": list(self.averaged),
            "alpha": self.alpha,
            "rows": rows,
            "notes": self.notes(),
        }


def deviation(values: NDArray[np.floating]) -> float:
    """Return the standard deviation over seeds (n - 1), 0 for one seed."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def compare_rows(
    rows: Sequence[Row],
    *,
    baseline: str = "",
    tasks: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 42,
    drawn: dict[tuple[Any, ...], NDArray[np.float64]] | None = None,
) -> SeedComparison:
    """Hold every row against one, over the seeds that both have.

    Args:
        rows: as `find_rows` gives them.
        baseline: the row the others are held against; by default the first.
        tasks: to compare on; by default those that all rows were measured on. The average leaves dev sets out.
        resamples: of the bootstrap; 0 leaves it out.
        seed: decides the resamples.
        drawn: resamples of earlier comparisons of the same rows, which need not be drawn again.

    Raises:
        MirrormaskError: there is nothing to compare, or a name is wrong.
    """
    ordered = _ordered(rows, baseline)
    shared = [task for task in ordered[0].tasks if all(task in row.tasks for row in ordered)]
    chosen = tuple(_task(task, shared) for task in tasks) or tuple(shared)
    if not chosen:
        raise MirrormaskError("The rows were not measured on any task in common. Repeat the runs with the same tasks.")
    averaged = tuple(task for task in chosen if not task.endswith(("-dev", "-train"))) or chosen
    first, others = ordered[0], ordered[1:]
    cache = {} if drawn is None else drawn
    tests: dict[str, tuple[Against, ...]] = {}
    for task in (*chosen, AVERAGE):
        over = averaged if task == AVERAGE else (task,)
        found = [_against(first, row, over) for row in others]
        boots = [
            _bootstrap(first, row, averaged, resamples, seed, cache) if task == AVERAGE and resamples else None
            for row in others
        ]
        tests[task] = tuple(_corrected(found, boots))
    return SeedComparison(tuple(ordered), chosen, averaged, tests)


def _ordered(rows: Sequence[Row], baseline: str) -> list[Row]:
    names = [row.name for row in rows]
    if baseline and baseline not in names:
        raise MirrormaskError(
            f"There is no row {baseline!r}.{did_you_mean(baseline, names)} There are: {', '.join(names)}."
        )
    first = next(row for row in rows if row.name == (baseline or names[0]))
    return [first, *(row for row in rows if row is not first)]


def _task(task: str, shared: Sequence[str]) -> str:
    if task not in shared:
        raise MirrormaskError(
            f"Not all rows were measured on {task!r}.{did_you_mean(task, shared)} All have: {', '.join(shared)}."
        )
    return task


def paired_seeds(first: Row, second: Row) -> list[SeedKey]:
    """Return the seeds that both rows have, in order.

    Raises:
        MirrormaskError: there are none.
    """
    seeds = {run.seeds for run in second.runs}
    both = [run.seeds for run in first.runs if run.seeds in seeds]
    if not both:
        raise MirrormaskError(
            f"{first.name} and {second.name} have no seed in common, so their runs cannot be paired. Run both with the "
            "same --seeds."
        )
    return both


def _against(first: Row, second: Row, tasks: Sequence[str]) -> Against:
    seeds = paired_seeds(first, second)
    values = second.only(seeds).averages(tasks) - first.only(seeds).averages(tasks)
    spread = float(values.std(ddof=1)) if len(values) > 1 else float("nan")
    p = sign_flip_p(values)
    return Against(len(values), float(values.mean()), spread, p, p, least_p(len(values)), None)


def _bootstrap(
    first: Row,
    second: Row,
    tasks: tuple[str, ...],
    resamples: int,
    seed: int,
    cache: dict[tuple[Any, ...], NDArray[np.float64]],
) -> Difference:
    seeds = paired_seeds(first, second)
    drawn, scores = [], []
    for row in (first, second):
        chosen = row.only(seeds)
        key = (row.name, tuple(seeds), tasks, resamples, seed)
        if key not in cache:
            cache[key] = resampled_averages(chosen.task_pairs(tasks), resamples=resamples, seed=seed)
        drawn.append(cache[key])
        scores.append((chosen.averages(tasks) / 100).tolist())
    return seed_difference(scores[0], scores[1], drawn[0], drawn[1])


def _corrected(found: Sequence[Against], boots: Sequence[Difference | None]) -> list[Against]:
    """Return the tests with their p-values corrected over all rows, and how many seeds each would take."""
    import dataclasses

    corrected = holm([test.p for test in found])
    boot_corrected = holm([boot.p_value for boot in boots if boot is not None])
    strict = ALPHA / max(1, len(found))  # what the smallest of so many must fall below
    return [
        dataclasses.replace(
            test,
            corrected=corrected[place],
            needed=pairs_needed(test.mean, test.deviation, alpha=strict),
            bootstrap=boots[place],
            bootstrap_corrected=boot_corrected[place] if boots[place] is not None else None,
        )
        for place, test in enumerate(found)
    ]


def fewest_seeds(rows: int, alpha: float = ALPHA) -> int:
    """Return how many paired seeds it takes before one of so many rows can be told from the baseline at all."""
    return fewest_pairs(alpha / max(1, rows))
