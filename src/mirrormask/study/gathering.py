"""The rows of a study, from run folders or the record of an earlier page, and how they go beside published ones."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import MirrormaskError
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, Estimate, check_resamples
from mirrormask.study.compare import AVERAGE, SeedComparison, compare_rows
from mirrormask.study.rows import Row, find_rows
from mirrormask.study.study_file import Study, plain_study
from mirrormask.study.study_record import is_record, read_record


@dataclass(frozen=True)
class Found:
    """A study with the runs that were found for it.

    Args:
        study: what was asked.
        rows: by name; those without runs are missing.
        published: numbers from the recipes, by row.
        comparisons: one for each table of which any row was found.
        records: the files that rows were read from where they are not from run folders.
        kept: by label, what an earlier page said in a part whose numbers its record does not hold.
    """

    study: Study
    rows: Mapping[str, Row]
    published: Mapping[str, Mapping[str, float]]
    comparisons: Mapping[str, SeedComparison] = field(repr=False)
    records: tuple[Path, ...] = ()
    kept: Mapping[str, str] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """Return the rows without runs, except for those of parts that are kept as they were."""
        kept = {row for part in self.study.parts if part.label in self.kept for row in part.rows}
        return [name for name in self.study.rows if name not in self.rows and name not in kept]


def gather(study: Study | None, sources: Sequence[Path | str], *, resamples: int = RESAMPLES) -> Found:
    """Find the runs of a study and compare the rows of each of its tables with the baseline.

    Args:
        study: what to look for; None takes every row there is into one table.
        sources: folders of runs, or the JSON record beside an earlier page.
        resamples: of the bootstrap; 0 leaves it out. What comes from a record keeps its recorded interval.

    Raises:
        MirrormaskError: the baseline has no runs.
    """
    check_resamples(resamples, fewest=0, of="a study")
    rows, intervals, kept = _read(sources)
    study = study or plain_study(list(rows))
    rows = {name: row for name, row in rows.items() if name in study.rows}
    if study.baseline not in rows:
        where = f"{study.recipes}/{study.baseline}.toml" if study.recipes else "RECIPE"
        raise MirrormaskError(
            f"The baseline {study.baseline!r} of the study has no runs there. Make them with: mirrormask run {where} "
            "--seeds 1,2,3"
        )
    drawn: dict[tuple[Any, ...], Any] = {}
    comparisons = {}
    for table in study.tables:
        there = [rows[name] for name in table.rows if name in rows and name != study.baseline]
        if there:
            base = rows[study.baseline]
            if _unpaired(base, there):
                comparisons[table.label] = _described(base, there)
            else:
                known = intervals.get(table.label, {})
                comparisons[table.label] = compare_rows(
                    [base, *there], resamples=resamples, drawn=drawn, intervals=known
                )
    records = tuple(Path(path).resolve() for path in sources if is_record(path))
    return Found(study, rows, {name: published(study, name) for name in study.rows}, comparisons, records, kept)


def _read(sources: Sequence[Path | str]) -> tuple[dict[str, Row], dict[str, dict[str, Estimate]], dict[str, str]]:
    """Return all rows by name, and of records the intervals by table and row, and the parts they keep."""
    folders = [path for path in sources if not is_record(path)]
    found = find_rows(folders) if folders else []
    intervals: dict[str, dict[str, Estimate]] = {}
    kept: dict[str, str] = {}
    for path in sources:
        if is_record(path):
            record = read_record(Path(path))
            found, intervals, kept = [*found, *record.rows], intervals | record.intervals, kept | record.kept
    rows = {row.name: row for row in found}
    if len(rows) < len(found):
        twice = next(row.name for row in found if rows[row.name] is not row)
        raise MirrormaskError(f"The row {twice!r} is in a record and in another place too. Name only one of them.")
    return rows, intervals, kept


def _unpaired(baseline: Row, rows: Sequence[Row]) -> bool:
    """Return whether some row has other seeds than the baseline by design, as where only one of three differs."""
    seeds = {run.seeds for run in baseline.runs}
    return any(not seeds & {run.seeds for run in row.runs} for row in rows)


def _described(baseline: Row, rows: Sequence[Row]) -> SeedComparison:
    """Return rows that cannot be paired with the baseline: described, not tested."""
    alone = compare_rows([baseline], resamples=0)
    tasks = tuple(task for task in alone.tasks if all(task in row.tasks for row in rows))
    averaged = tuple(task for task in alone.averaged if task in tasks)
    return dataclasses.replace(alone, rows=(baseline, *rows), tasks=tasks, averaged=averaged, tests={})


def published(study: Study, row: str) -> dict[str, float]:
    """Return the published numbers of a row, from the [expect] table of its recipe; none where it has none."""
    path = Path(study.recipes) / f"{row}.toml"
    if not study.recipes or not path.is_file():
        return {}
    expect = tomllib.loads(path.read_text(encoding="utf-8")).get("expect", {})
    return {key: float(value) for key, value in expect.items()}


@dataclass(frozen=True)
class Direction:
    """Which way a row goes in the publication and here, on the tasks that both have.

    Args:
        theirs: difference to their baseline, in points.
        ours: difference to ours.
        clear_there: their difference is larger than the deviation of their baseline over seeds.
        clear_here: our seeds show the difference, corrected.
    """

    theirs: float
    ours: float
    clear_there: bool
    clear_here: bool

    @property
    def answer(self) -> str:
        """Return whether the two agree, which takes a difference that is clear on both sides."""
        if not (self.clear_there and self.clear_here):
            return "cannot be told"
        return "agrees" if (self.theirs > 0) == (self.ours > 0) else "contradicts"

    def words(self, source: str) -> str:
        """Return how the two go together."""
        if self.answer != "cannot be told":
            return self.answer
        sign = "same" if (self.theirs > 0) == (self.ours > 0) else "other"
        if not self.clear_there and not self.clear_here:
            return f"{self.answer}: clear in neither, {sign} sign"
        return f"{self.answer}: clear {f'in {source}' if self.clear_there else 'here'} only, {sign} sign"


def direction(found: Found, comparison: SeedComparison, place: int) -> Direction | None:
    """Return how a row of a comparison goes beside its published numbers; None where it has none."""
    row, base = (found.published.get(comparison.rows[at].name, {}) for at in (place, 0))
    tasks = [task for task in comparison.averaged if task in row and task in base]
    if not tasks or not comparison.tests:
        return None
    test = comparison.tests[AVERAGE][place - 1]
    theirs = float(np.mean([row[task] - base[task] for task in tasks]))
    return Direction(theirs, test.mean, abs(theirs) > base.get("average_std", 0.0), test.direction != 0)
