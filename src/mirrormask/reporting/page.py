"""One-file HTML reports: sections of text, tables and figures, for the screen and for paper, light and dark.

A page asks nothing of the network, and every word that comes from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from mirrormask import __version__
from mirrormask.core.storage import atomic_file
from mirrormask.reporting.style import STYLE
from mirrormask.reporting.tables import Table


@dataclass(frozen=True)
class Picture:
    """A figure as inline SVG.

    Args:
        svg: from `drawing.svg`; trusted, it is not escaped.
        alt: what is to be seen, for those who cannot see it.
    """

    svg: bytes
    alt: str


@dataclass(frozen=True)
class Section:
    """A part of a report.

    Args:
        title: its heading.
        text: paragraphs, such as a sentence on how to read the figure.
        tables: tables below the text.
        figures: figures below the tables.
        marked: paragraphs of markup, in which whoever made them escaped what comes from outside.
    """

    title: str
    text: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Picture, ...] = ()
    marked: tuple[str, ...] = ()


def render(title: str, sections: Sequence[Section], *, verdict: Sequence[str] = (), subtitle: str = "") -> str:
    """Return a whole page.

    Args:
        title: of the page.
        sections: in order.
        verdict: sentences that stand on top, the answer the reader came for.
        subtitle: a line under the title, such as what was measured and when.

    Example:
        >>> page = render("A & B", [Section("Scores", ("Higher is better.",))], verdict=["B is better."])
        >>> "<h1>A &amp; B</h1>" in page and "<h2>Scores</h2>" in page
        True
    """
    answer = "".join(f"<p>{escape(sentence)}</p>" for sentence in verdict)
    head = f"<h1>{escape(title)}</h1>" + (f'<p class="subtitle">{escape(subtitle)}</p>' if subtitle else "")
    parts = [f"<header>{head}</header>"]
    if answer:
        parts.append(f'<div class="verdict" role="note">{answer}</div>')
    parts += [_section(section) for section in sections]
    parts.append(f"<footer>mirrormask {escape(__version__)}</footer>")
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def save(path: Path | str, page: str) -> None:
    """Write a page so that the file is either whole or as it was before."""
    with atomic_file(path) as stream:
        stream.write(page)


def _section(section: Section) -> str:
    text = "".join(f"<p>{escape(paragraph)}</p>" for paragraph in section.text)
    tables = "".join(map(_table, section.tables))
    figures = "".join(map(_figure, section.figures))
    marked = "".join(f"<p>{paragraph}</p>" for paragraph in section.marked)
    return f"<section><h2>{escape(section.title)}</h2>{text}{tables}{figures}{marked}</section>"


def _table(table: Table) -> str:
    aligned = [
        "" if column == 0 or column in table.texts else ' class="number"' for column in range(len(table.columns))
    ]
    head = "".join(
        f'<th scope="col"{how}>{escape(name)}</th>' for how, name in zip(aligned, table.columns, strict=True)
    )
    body = []
    for number, row in enumerate(table.rows):
        cells = [f'<th scope="row">{escape(row[0])}</th>']
        cells += [f"<td{how}>{escape(cell)}</td>" for how, cell in zip(aligned[1:], row[1:], strict=True)]
        start = '<tr class="strong">' if number in table.emphasized else "<tr>"
        body.append(f"{start}{''.join(cells)}</tr>")
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    title = escape(table.title, quote=True)
    return (  # the caption stands outside, so that it wraps on a narrow screen while the table scrolls
        f'<p class="caption" aria-hidden="true">{title}</p><div class="table"><table aria-label="{title}">'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div>{note}"
    )


def _figure(picture: Picture) -> str:
    alt = escape(picture.alt, quote=True)
    drawn = picture.svg.decode("utf-8").replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)
    return f"<figure>{drawn}</figure>"
