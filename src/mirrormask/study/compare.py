"""Compare rows of runs over seeds: is one method better than another, or did it have better seeds?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, Estimate, check_resamples
from mirrormask.evaluation.statistics.seed_bootstrap import resampled_averages, seed_interval
from mirrormask.evaluation.statistics.significance import ALPHA, fewest_pairs, holm, least_p, sign_flip_p
from mirrormask.study.rows import Row, SeedKey, chosen_rows
from mirrormask.study.verdicts import Against

AVERAGE = "average"
"""What the mean over the compared tasks is called among them."""

START = "training did not help: this is your start"


OVERLAP = (
    "1,109 of the 1,500 pairs of STS-B dev and 723 of the 1,379 of its test set also stand in STS12–15: a choice made "
    "on STS-B dev is not independent of these tasks."
)


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
        said = self.tests[task][row - 1].verdict
        return f"{START}; {said}" if self.rows[row].kept_start == len(self.rows[row].runs) else said

    def notes(self) -> list[str]:
        """Return what a reader must know about the numbers."""
        first, others = self.rows[0], self.rows[1:]
        said = [
            f"Mean ± standard deviation (n − 1) over seeds, Spearman's correlation × 100; the average is over "
            f"{self.average_title}."
        ]
        tests = self.tests.get(AVERAGE, ())
        drawn = any(test.interval is not None for test in tests)
        if tests:
            said.append(
                f"Verdicts are two-sided sign flips over paired seeds, corrected by Holm over {_counted(others, 'row')}"
                + (
                    "; intervals are 95 % of a bootstrap over sentence pairs and seeds, and decide nothing." * drawn
                    or "."
                )
            )
            said += _power(max(test.pairs for test in tests), len(others), self.alpha)
            missing = [row.name for row, test in zip(others, tests, strict=True) if test.pairs < len(first.runs)]
            if missing:
                said.append(f"Not all seeds of {first.name} were run for {', '.join(missing)}.")
        if any(task.startswith("stsb") for task in self.tasks) and any(t.startswith("sts1") for t in self.tasks):
            said.append(f"{OVERLAP} The bootstrap counts a pair once wherever it occurs." if drawn else OVERLAP)
        if others and not self.tests:
            said.append("The rows have other seeds than the first by design, so they are described and not tested.")
        return said

    def starts(self) -> list[str]:
        """Return which runs are the model they began with, as a sentence, where there are any."""
        kept = [f"{row.name} ({row.kept_start} of {len(row.runs)})" for row in self.rows if row.kept_start]
        return [f"Runs that kept step 0, because no later checkpoint was better: {', '.join(kept)}."] if kept else []

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
            rows.append(
                {
                    "name": row.name,
                    "seeds": seeds,
                    "kept_start": row.kept_start,
                    "scores": found,
                    "tests": tests,
                    "verdict": verdict,
                }
            )
        return {
            "schema": "mirrormask.comparison/2",
            "version": __version__,
            "baseline": self.rows[0].name,
            "averaged": list(self.averaged),
            "alpha": self.alpha,
            "rows": rows,
            "notes": [*self.notes(), *self.starts()],
        }


def deviation(values: NDArray[np.floating]) -> float:
    """Return the standard deviation over seeds (n - 1), 0 for one seed."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _counted(things: Sequence[Any], name: str) -> str:
    return f"{len(things)} {name}" + ("s" if len(things) != 1 else "")


def _power(pairs: int, rows: int, alpha: float) -> list[str]:
    """Return what so many paired seeds cannot show, whatever they show."""
    alone, first = fewest_pairs(alpha), fewest_pairs(alpha / rows)
    if pairs >= first:
        return []
    if pairs >= alone:
        return [f"{pairs} paired seeds can show p < {alpha:g} for one row, but it takes {first} for {rows}."]
    seeds = f"{pairs} paired seed" + ("s" if pairs != 1 else "")
    return [
        f"{seeds} cannot show p < {alpha:g} by sign flips, whatever they show: their smallest p is "
        f"{least_p(pairs):.4g}. It takes {alone} for one row"
        + (f", and {first} for the first of {rows}." * (rows > 1) or ".")
    ]


def compare_rows(
    rows: Sequence[Row],
    *,
    baseline: str = "",
    tasks: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = 42,
    drawn: dict[tuple[Any, ...], NDArray[np.float64]] | None = None,
    intervals: Mapping[str, Estimate] | None = None,
) -> SeedComparison:
    """Hold every row against one, over the seeds that both have.

    Args:
        rows: as `find_rows` gives them.
        baseline: the row the others are held against; by default the first.
        tasks: to compare on; by default those that all rows were measured on. The average leaves dev sets out.
        resamples: of the bootstrap; 0 leaves it out.
        seed: decides the resamples.
        drawn: resamples of earlier comparisons of the same rows, which need not be drawn again.
        intervals: of rows whose sentence pairs are not at hand, as they were recorded.

    Raises:
        MirrormaskError: there is nothing to compare, or a name is wrong.
    """
    check_resamples(resamples, fewest=0, of="a comparison")
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
        tests[task] = _tested([_differences(first, row, averaged if task == AVERAGE else (task,)) for row in others])
    known = intervals or {}
    tests[AVERAGE] = tuple(
        dataclasses.replace(
            test, interval=known.get(row.name) or _interval(first, row, averaged, resamples, seed, cache)
        )
        for row, test in zip(others, tests[AVERAGE], strict=True)
    )
    return SeedComparison(tuple(ordered), chosen, averaged, tests)


def _ordered(rows: Sequence[Row], baseline: str) -> list[Row]:
    first = chosen_rows(rows, [baseline])[0] if baseline else rows[0]
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


def _differences(first: Row, second: Row, tasks: Sequence[str]) -> NDArray[np.float64]:
    """Return the second row less the first for every seed that both have, in points (seeds,)."""
    seeds = paired_seeds(first, second)
    return second.only(seeds).averages(tasks) - first.only(seeds).averages(tasks)


def _tested(rows: Sequence[NDArray[np.float64]]) -> tuple[Against, ...]:
    """Return the test of every row's differences, corrected over all of them."""
    found = [sign_flip_p(values) for values in rows]
    return tuple(
        Against(
            pairs=len(values),
            mean=float(values.mean()),
            deviation=float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
            p=p,
            corrected=corrected,
            rows=len(rows),
        )
        for values, p, corrected in zip(rows, found, holm(found), strict=True)
    )


def _interval(
    first: Row,
    second: Row,
    tasks: tuple[str, ...],
    resamples: int,
    seed: int,
    cache: dict[tuple[Any, ...], NDArray[np.float64]],
) -> Estimate | None:
    """Return how far the difference would move on other sentences and seeds; None where it cannot be drawn."""
    if not resamples or not (first.has_pairs and second.has_pairs):
        return None
    seeds = paired_seeds(first, second)
    drawn, scores = [], []
    for row in (first, second):
        chosen = row.only(seeds)
        key = (row.name, tuple(seeds), tasks, resamples, seed)
        if key not in cache:
            cache[key] = resampled_averages(chosen.task_pairs(tasks), resamples=resamples, seed=seed)
        drawn.append(cache[key])
        scores.append((chosen.averages(tasks) / 100).tolist())
    return seed_interval(scores[0], scores[1], drawn[0], drawn[1])


def fewest_seeds(rows: int, alpha: float = ALPHA) -> int:
    """Return how many paired seeds it takes before one of so many rows can be told from the baseline at all."""
    return fewest_pairs(alpha / max(1, rows))
