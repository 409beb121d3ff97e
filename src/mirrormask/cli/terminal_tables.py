"""Tables on the terminal: whole where they fit, texts folded where not, and turned where even that loses a number."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mirrormask.cli.terminal import Terminal

_GAP = 2  # spaces between columns
_FOLDED = 12  # characters below which a folded column cannot be read


def draw(
    terminal: Terminal,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    texts: Collection[int],
    bold: Collection[int] = (),
) -> None:
    """Print a table.

    Args:
        terminal: where to.
        title: above it.
        header: names of the columns.
        rows: their cells.
        texts: columns of texts, which may be folded; the others are numbers.
        bold: rows to emphasize.
    """
    from rich.cells import cell_len
    from rich.text import Text

    from mirrormask.cli.terminal import clean

    header = [clean(name) for name in header]
    rows = [[clean(cell) for cell in row] for row in rows]
    if title:
        terminal.print(Text(title, style="bold"), soft_wrap=True)
    widths = [max(cell_len(row[place]) for row in [header, *rows]) for place in range(len(header))]
    numbers = sum(width for place, width in enumerate(widths) if place not in texts)
    room = terminal.width - numbers - _GAP * (len(widths) - 1)
    folded = {place: min(widths[place], max(room, _FOLDED)) for place in texts if place < len(widths)}
    while sum(folded.values()) > room and max(folded.values(), default=0) > _FOLDED:
        folded[max(folded, key=folded.__getitem__)] -= 1  # none is squeezed for another
    if sum(folded.values()) > room:
        _print_turned(terminal, header, rows, bold)
    else:
        _print_grid(
            terminal, header, rows, [folded.get(place, width) for place, width in enumerate(widths)], texts, bold
        )


def _print_grid(
    terminal: Terminal,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    widths: Sequence[int],
    texts: Collection[int],
    bold: Collection[int],
) -> None:
    from rich.cells import cell_len
    from rich.text import Text

    def pad(text: str, place: int) -> str:
        spaces = " " * (widths[place] - cell_len(text))
        return text + spaces if place in texts else spaces + text

    for number, row in enumerate([header, *rows] if any(header) else rows, 0 if any(header) else 1):
        cells = [Text(cell).wrap(terminal, widths[place], overflow="fold") for place, cell in enumerate(row)]
        for parts in itertools.zip_longest(*cells, fillvalue=Text()):
            line = (" " * _GAP).join(pad(part.plain.rstrip(), place) for place, part in enumerate(parts))
            terminal.print(
                Text(line.rstrip(), style="bold" if not number or number - 1 in bold else ""), soft_wrap=True
            )


def _print_turned(
    terminal: Terminal, header: Sequence[str], rows: Sequence[Sequence[str]], bold: Collection[int]
) -> None:
    """Print one record below the other: its name, then a line for each of its cells."""
    from rich.text import Text

    for number, row in enumerate(rows):
        terminal.print(Text(row[0], style="bold" if number in bold else ""), soft_wrap=True)
        for name, cell in zip(header[1:], row[1:], strict=True):
            terminal.print(Text(f"  {name}: {cell}" if name else f"  {cell}"), soft_wrap=True)
