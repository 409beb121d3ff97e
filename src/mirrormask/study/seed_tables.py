"""A comparison over seeds as a table."""

from __future__ import annotations

from collections.abc import Mapping

from mirrormask.reporting.tables import Table, minus
from mirrormask.study.compare import AVERAGE, SeedComparison, deviation


def comparison_table(found: SeedComparison, *, title: str = "", names: Mapping[str, str] | None = None) -> Table:
    """Return mean ± deviation per task, the difference of the average to the baseline, and the verdict.

    Args:
        found: the comparison.
        title: of the table.
        names: what to call rows instead of the names of their recipes.
    """
    names = names or {}
    alone = found.averaged == found.tasks and len(found.tasks) == 1  # an average beside it would be the same
    shown = found.tasks if alone else (*found.tasks, AVERAGE)
    rows = []
    for place, row in enumerate(found.rows):
        cells = [names.get(row.name, row.name), str(len(row.runs))]
        for task in shown:
            values = found.values(row, task)
            spread = f" ± {deviation(values):.2f}" if len(values) > 1 and not row.is_start else ""
            cells.append(minus(f"{values.mean():.2f}{spread}"))
        if found.tests:
            cells += [_change(found, place), found.verdict(place)] if place else ["", "baseline"]
        rows.append(tuple(cells))
    titles = found.titles if alone else [*found.titles, AVERAGE]
    columns = ("row", "seeds", *titles, *(("difference", "verdict") if found.tests else ()))
    return Table(
        title=title or f"Runs over seeds, against {names.get(found.rows[0].name, found.rows[0].name)}",
        columns=columns,
        rows=tuple(rows),
        emphasized=(0,),
        note=" ".join([*found.notes(), *found.starts()]),
        texts=(len(columns) - 1,) if found.tests else (),
    )


def _change(found: SeedComparison, place: int) -> str:
    test = found.tests[AVERAGE][place - 1]
    drawn = test.interval
    span = f" ({drawn.low:+.2f} to {drawn.high:+.2f})" if drawn is not None else ""
    return minus(f"{test.mean:+.2f}{span}")
