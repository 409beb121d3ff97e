"""A comparison over seeds as a table: for the terminal, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mirrormask.evaluation.report import Table
from mirrormask.evaluation.tables import minus
from mirrormask.experiments.compare import AVERAGE, SeedComparison, deviation

FORMATS = ("terminal", "markdown", "latex")


def comparison_table(found: SeedComparison, *, title: str = "", names: Mapping[str, str] | None = None) -> Table:
    """Return mean ± deviation per task, the difference of the average to the baseline, and the verdict.

    Args:
        found: the comparison.
        title: of the table.
        names: what to call rows instead of the names of their recipes.
    """
    names = names or {}
    rows = []
    for place, row in enumerate(found.rows):
        cells = [names.get(row.name, row.name), str(len(row.runs))]
        for task in (*found.tasks, AVERAGE):
            values = found.values(row, task)
            spread = f" ± {deviation(values):.2f}" if len(values) > 1 else ""
            cells.append(minus(f"{values.mean():.2f}{spread}"))
        if found.tests:
            cells += [_change(found, place), found.verdict(place)] if place else ["", "baseline"]
        rows.append(tuple(cells))
    columns = ("row", "seeds", *found.titles, AVERAGE, *(("difference", "verdict") if found.tests else ()))
    return Table(
        title=title or f"Runs over seeds, against {names.get(found.rows[0].name, found.rows[0].name)}",
        columns=columns,
        rows=tuple(rows),
        emphasized=(0,),
        note=" ".join(found.notes()),
        texts=(len(columns) - 1,) if found.tests else (),
    )


def _change(found: SeedComparison, place: int) -> str:
    test = found.tests[AVERAGE][place - 1]
    boot = test.bootstrap
    span = f" ({boot.low:+.2f} to {boot.high:+.2f})" if boot is not None else ""
    return minus(f"{test.mean:+.2f}{span}")


def markdown(table: Table) -> str:
    """Return a table as Markdown, its note below.

    Example:
        >>> print(markdown(Table("", ("a", "b"), (("x|y", "1"),))))
        | a | b |
        |---|---:|
        | x\\|y | 1 |
        <BLANKLINE>
    """
    marks = ["---" if place == 0 or place in table.texts else "---:" for place in range(len(table.columns))]
    lines = [_line(table.columns), f"|{'|'.join(marks)}|", *map(_line, table.rows)]
    return "\n".join([*lines, *(["", table.note] if table.note else []), ""])


def _line(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def latex(table: Table) -> str:
    """Return a table as LaTeX for the `booktabs` package, its note below.

    Example:
        >>> print(latex(Table("", ("row", "a_b"), (("x & y", "1.0 ± 0.2"),))))
        \\begin{tabular}{lr}
        \\toprule
        row & a\\_b \\\\
        \\midrule
        x \\& y & $1.0 \\pm 0.2$ \\\\
        \\bottomrule
        \\end{tabular}
        <BLANKLINE>
    """
    aligned = "".join("l" if place == 0 or place in table.texts else "r" for place in range(len(table.columns)))
    body = [" & ".join(map(_tex, row)) + r" \\" for row in table.rows]
    head = " & ".join(map(_tex, table.columns)) + r" \\"
    lines = [
        rf"\begin{{tabular}}{{{aligned}}}",
        r"\toprule",
        head,
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*lines, *([f"% {table.note}"] if table.note else []), ""])


def _tex(cell: str) -> str:
    if re.fullmatch(r"[−+]?[\d.]+( ± [\d.]+)?( \([−+]?[\d.]+ to [−+]?[\d.]+\))?", cell):
        plain = cell.replace("−", "-").replace("±", r"\pm").replace(" to ", r"\text{ to }")
        return f"${plain}$"
    escaped = re.sub(r"([&%$#_{}])", r"\\\1", cell)
    for sign, command in (
        ("±", r"$\pm$"),
        ("−", "$-$"),
        ("≤", r"$\leq$"),
        ("<", "$<$"),
        ("µ", r"$\mu$"),
        ("×", r"$\times$"),
    ):
        escaped = escaped.replace(sign, command)
    return escaped
