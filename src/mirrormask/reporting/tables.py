"""Tables of texts: what any room shows, and how it is written in Markdown and LaTeX."""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMATS = ("terminal", "markdown", "latex")


@dataclass(frozen=True)
class Table:
    """A table of texts, the first column left-aligned and the others right-aligned, as figures are.

    Args:
        title: what the rows say.
        columns: the header.
        rows: one text per column each.
        emphasized: rows to set in bold, such as an average.
        note: a line below it.
        texts: further columns that hold words and are left-aligned.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    emphasized: tuple[int, ...] = ()
    note: str = ""
    texts: tuple[int, ...] = ()


def minus(number: str) -> str:
    """Return the text of a number with a real minus sign."""
    return number.replace("-", "−")


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
