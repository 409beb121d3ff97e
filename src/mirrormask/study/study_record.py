"""The record of a study: every number its page shows, in one JSON file from which the page can be written again.

Per run it holds seeds, scores and shape; per row what its runs share; per table the tests and the intervals, which
alone cannot be computed again, since sentence pairs are not in it.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrormask import __version__
from mirrormask.core.errors import DataError
from mirrormask.core.storage import read_json
from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.study.compare import AVERAGE, SeedComparison
from mirrormask.study.rows import Row, Scored

SCHEMA = "mirrormask.study/1"

_SHARED = ("recipe", "parts", "settings", "data", "device", "precision", "versions", "model")
_TIMED = ("training_seconds", "scoring_seconds")
_LOGGED = ("step", "positive_cosine", "negative_cosine")


@dataclass(frozen=True)
class Recorded:
    """What a record holds.

    Args:
        rows: with the scores of every run.
        intervals: of every row, by table.
        kept: by label, what the page said in a part whose numbers are not here.
    """

    rows: list[Row]
    intervals: dict[str, dict[str, Estimate]]
    kept: dict[str, str]


def study_record(
    rows: Mapping[str, Row],
    comparisons: Mapping[str, SeedComparison],
    *,
    logged: Sequence[str] = (),
    kept: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return a study, JSON-able.

    Args:
        rows: by name.
        comparisons: by the label of their table.
        logged: rows whose cosines during training are kept too.
        kept: parts of the page whose numbers are not among these.
    """
    return {
        "schema": SCHEMA,
        "version": __version__,
        "rows": {name: _row(row, logged=name in logged) for name, row in rows.items()},
        "tables": {label: _tests(found) for label, found in comparisons.items() if found.tests},
        "kept": dict(kept or {}),
    }


def _row(row: Row, *, logged: bool) -> dict[str, Any]:
    record = {key: row.record[key] for key in _SHARED if key in row.record}
    for key in _TIMED:
        seconds = [run.record[key] for run in row.runs if key in run.record]
        record |= {key: statistics.median(seconds)} if seconds else {}
    return {**record, "runs": [_run(run, logged=logged) for run in row.runs]}


def _run(run: Scored, *, logged: bool) -> dict[str, Any]:
    record: dict[str, Any] = {key: run.record[key] for key in ("seeds", "best_step") if key in run.record}
    record["scores"] = {task: run.score(task) for task in run.record["tasks"]}
    shape = run.record.get("geometry")
    if shape:
        record["geometry"] = {key: shape[key] for key in ("on", "alignment", "uniformity")}
    if logged and run.metrics:
        record["log"] = [{key: each[key] for key in _LOGGED if key in each} for each in run.metrics]
    return record


def _tests(found: SeedComparison) -> dict[str, Any]:
    named = zip(found.rows[1:], found.tests[AVERAGE], strict=True)
    return {row.name: {**test.to_dict(), "verdict": test.verdict} for row, test in named}


def is_record(path: Path | str) -> bool:
    """Return whether a path is meant as the record of a study and not as a folder of runs."""
    return Path(path).suffix == ".json"


def read_record(path: Path) -> Recorded:
    """Return what a record holds.

    Raises:
        DataError: it is not there, damaged, or another kind of file.
    """
    try:
        record = read_json(path)
    except FileNotFoundError:
        raise DataError(f"There is no record {path}. A study writes it beside its page.") from None
    except (OSError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"The record {path} cannot be read ({error}). Write it again from the run folders.") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise DataError(f"{path} is not of the kind {SCHEMA!r}. Write it again with 'mirrormask study'.")
    try:
        rows = [
            Row(name, tuple(_scored(name, row, run) for run in row["runs"])) for name, row in record["rows"].items()
        ]
        intervals = {
            label: {name: Estimate(**test["interval"]) for name, test in tests.items() if test.get("interval")}
            for label, tests in record["tables"].items()
        }
        kept = {str(label): str(text) for label, text in record.get("kept", {}).items()}
    except (KeyError, TypeError, AttributeError) as error:
        raise DataError(f"The record {path} is damaged ({error!r}). Write it again from the run folders.") from error
    return Recorded([row for row in rows if row.runs], intervals, kept)


def _scored(name: str, row: Mapping[str, Any], run: Mapping[str, Any]) -> Scored:
    shared = {key: value for key, value in row.items() if key != "runs"}
    tasks = {task: {"spearman_percent": float(value)} for task, value in run["scores"].items()}
    scored = Scored(None, {**shared, **run, "name": name, "tasks": tasks})
    _ = scored.seeds  # what is not there is missed here and not on the page
    return scored
