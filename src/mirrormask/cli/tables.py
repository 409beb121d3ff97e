"""Tables of an evaluation on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrormask.cli.output import Output

if TYPE_CHECKING:
    from mirrormask.reporting.tables import Table


def print_table(output: Output, table: Table) -> None:
    """Print a table with its note; emphasized rows are bold."""
    from rich.table import Table as Rich
    from rich.text import Text

    shown = Rich(
        title=table.title, title_justify="left", title_style="bold", box=None, header_style="bold", pad_edge=False
    )
    for place, name in enumerate(table.columns):
        shown.add_column(name, justify="left" if place == 0 or place in table.texts else "right")
    for number, row in enumerate(table.rows):
        style = "bold" if number in table.emphasized else ""
        shown.add_row(*[Text(cell, style=style) for cell in row])
    output.out.print(shown)
    if table.note:
        output.out.print(Text(table.note, style="dim"))
    output.out.print()
