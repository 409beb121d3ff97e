"""A study: tables of rows over seeds beside published numbers, described in TOML and filled from run folders."""

from __future__ import annotations

import dataclasses
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import MirrormaskError, did_you_mean
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.study.compare import AVERAGE, Against, SeedComparison, compare_rows
from mirrormask.study.rows import Row, find_rows


@dataclass(frozen=True)
class StudyTable:
    """Rows that are held against the baseline together.

    Args:
        label: what the published table is called.
        title: what it is about.
        rows: names of recipes, without the baseline.
        text: a paragraph above it.
        task: the score shown beside geometry.
    """

    label: str
    title: str = ""
    rows: Sequence[str] = ()
    text: str = ""
    task: str = ""


@dataclass(frozen=True)
class Study:
    """What a page is made of.

    Args:
        name: of the page.
        title: its heading.
        baseline: the row that others are held against.
        recipes: the folder of the rows' recipes, whose [expect] has the published numbers.
        text: what stands on top.
        source: what the published numbers are from, such as "the thesis".
        names: what to call rows.
        tables: in order.
        geometry: rows whose alignment and uniformity are shown seed by seed.
        cosines: rows whose cosines during training are drawn.
        negatives: rows that differ in the number of generated negatives.
    """

    name: str
    title: str
    baseline: str
    recipes: str
    text: str = ""
    source: str = "the publication"
    names: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[StudyTable, ...] = ()
    geometry: StudyTable | None = None
    cosines: StudyTable | None = None
    negatives: StudyTable | None = None

    @property
    def rows(self) -> list[str]:
        """Return every row it names, once, the baseline first."""
        extra = [part.rows for part in (self.geometry, self.cosines, self.negatives) if part is not None]
        named = [row for rows in (*(table.rows for table in self.tables), *extra) for row in rows]
        return list(dict.fromkeys([self.baseline, *named]))

    def called(self, row: str) -> str:
        """Return what to call a row."""
        return self.names.get(row, row)


@dataclass(frozen=True)
class Found:
    """A study with the runs that were found for it.

    Args:
        study: what was asked.
        rows: by name; those without runs are missing.
        published: numbers from the recipes, by row.
        comparisons: one for each table of which any row was found.
    """

    study: Study
    rows: Mapping[str, Row]
    published: Mapping[str, Mapping[str, float]]
    comparisons: Mapping[str, SeedComparison] = field(repr=False)

    @property
    def missing(self) -> list[str]:
        """Return the rows without runs."""
        return [name for name in self.study.rows if name not in self.rows]


def read_study(path: Path) -> Study:
    """Read the description of a study.

    Raises:
        MirrormaskError: the file is not there, not TOML, or has keys that mean nothing.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        near = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise MirrormaskError(f"There is no study {path}.{did_you_mean(path.name, near)}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, IsADirectoryError) as error:
        raise MirrormaskError(f"The study {path} is not TOML: {error}.") from error
    tables["name"] = path.stem
    _check(tables, Study, path, "")
    for key in ("title", "baseline", "recipes"):
        if not isinstance(tables.get(key), str):
            raise MirrormaskError(f"The study {path} needs a {key!r}, as a text.")
    tables["tables"] = tuple(
        StudyTable(**_check(each, StudyTable, path, "tables")) for each in tables.get("tables", ())
    )
    for key in ("geometry", "cosines", "negatives"):
        if key in tables:
            tables[key] = StudyTable(**_check(tables[key], StudyTable, path, key))
    return Study(**tables)


def _check(table: Any, kind: type[Any], path: Path, where: str) -> dict[str, Any]:
    known = list(typing.get_type_hints(kind))
    if not isinstance(table, dict):
        raise MirrormaskError(f"[{where}] of the study {path} must be a table.")
    for key in table:
        if key not in known:
            inside = f"[{where}] of the study" if where else "The study"
            raise MirrormaskError(f"{inside} {path} has no key {key!r}.{did_you_mean(key, known)}")
    if where and "label" not in table:
        raise MirrormaskError(f"[{where}] of the study {path} needs a 'label'.")
    return table


def gather(study: Study, runs: Sequence[Path | str], *, resamples: int = RESAMPLES) -> Found:
    """Find the runs of a study and compare the rows of each of its tables with the baseline.

    Args:
        study: what to look for.
        runs: folders of runs.
        resamples: of the bootstrap; 0 leaves it out.

    Raises:
        MirrormaskError: the baseline has no runs.
    """
    rows = {row.name: row for row in find_rows(runs) if row.name in study.rows}
    if study.baseline not in rows:
        raise MirrormaskError(
            f"The baseline {study.baseline!r} of the study has no runs there. Make them with: mirrormask run "
            f"{study.recipes}/{study.baseline}.toml --seeds 1,2,3"
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
                comparisons[table.label] = compare_rows([base, *there], resamples=resamples, drawn=drawn)
    return Found(study, rows, {name: published(study, name) for name in study.rows}, comparisons)


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
    if not path.is_file():
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
        clear_here: ours is shown by the seeds or by the bootstrap, corrected.
    """

    theirs: float
    ours: float
    clear_there: bool
    clear_here: bool

    def words(self, source: str) -> str:
        """Return how the two go together."""
        same = (self.theirs > 0) == (self.ours > 0)
        if self.clear_there and self.clear_here:
            return "agrees" if same else "contradicts"
        if not self.clear_there and not self.clear_here:
            return "agrees: no clear difference in either"
        where = f"in {source} only" if self.clear_there else "here only"
        return f"clear {where}, {'same' if same else 'other'} sign"


def direction(found: Found, comparison: SeedComparison, place: int) -> Direction | None:
    """Return how a row of a comparison goes beside its published numbers; None where it has none."""
    row, base = (found.published.get(comparison.rows[at].name, {}) for at in (place, 0))
    tasks = [task for task in comparison.averaged if task in row and task in base]
    if not tasks or not comparison.tests:
        return None
    test = comparison.tests[AVERAGE][place - 1]
    theirs = float(np.mean([row[task] - base[task] for task in tasks]))
    return Direction(theirs, test.mean, abs(theirs) > base.get("average_std", 0.0), is_clear(test, comparison.alpha))


def is_clear(test: Against, alpha: float) -> bool:
    """Return whether the seeds, or the bootstrap over pairs and seeds, show a difference."""
    boot = test.bootstrap_corrected
    return test.corrected < alpha or (boot is not None and boot < alpha)
