"""Files that are one document each: Markdown, HTML, plain text read whole, and PDF and DOCX through an extra."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from mirrormask.core.errors import DataError, MissingExtra
from mirrormask.data.text.compression import READ_ERRORS, check_file, damaged, named, open_bytes, split_suffix
from mirrormask.data.text.files import open_text

PAGES = (".txt", ".md", ".markdown", ".rst", ".html", ".htm", ".pdf", ".docx")
"""Endings of files that can be read as one document."""

_UNSEEN = {"script", "style", "template", "noscript", "svg", "math"}
_INLINE = {"a", "abbr", "b", "bdi", "cite", "code", "em", "font", "i", "kbd", "mark", "q", "s", "small", "span"}
_INLINE |= {"strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "label"}
_BLANKS = re.compile(r"[ \t\r\f\v]+")
_EMPTY_LINES = re.compile(r"\n\s*\n\s*")
_HEADING = re.compile(r"^#{1,2}\s+(.+?)\s*#*\s*$", re.MULTILINE)


def page_text(path: Path | str) -> tuple[str, str]:
    """Return the text of a file that is one document, and its title where it says one.

    Args:
        path: a file, plain or compressed.

    Raises:
        DataError: it is missing, empty, damaged or not what its name says.
        MissingExtra: PDF or DOCX, and the package that reads it is not installed.
    """
    check_file(path)
    kind = split_suffix(path)[0]
    if kind in _BINARY:
        return _BINARY[kind](path)
    with open_text(path) as lines:
        text = "".join(lines)
    if kind in (".html", ".htm"):
        return html_text(text)
    heading = _HEADING.search(text) if kind in (".md", ".markdown") else None
    return text, heading[1] if heading else ""


def html_text(markup: str) -> tuple[str, str]:
    """Return what a reader of a page sees, a block a paragraph, and the page's title.

    Example:
        >>> html_text("<title>Tea</title><p>Boil <b>water</b>.</p><script>x()</script><p>Wait &amp; drink.")
        ('Boil water.\\n\\nWait & drink.', 'Tea')
    """
    seen = _Seen()
    seen.feed(markup)
    seen.close()
    text = _EMPTY_LINES.sub("\n\n", _BLANKS.sub(" ", "".join(seen.parts)))
    return "\n".join(line.strip() for line in text.strip().split("\n")), " ".join("".join(seen.title).split())


class _Seen(HTMLParser):
    """Collects the text that is shown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._inside: list[str] = []  # elements whose text is no text of the page

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNSEEN or tag == "title":
            self._inside.append(tag)
        elif tag not in _INLINE:
            self.parts.append("\n" if tag == "br" else "\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._inside:
            del self._inside[self._inside.index(tag) :]
        elif tag not in _INLINE and tag not in _UNSEEN:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._inside:
            self.parts.append(data.replace("\n", " "))
        elif self._inside[-1] == "title":
            self.title.append(data)


def _whole(path: Path | str) -> io.BytesIO:
    try:
        with open_bytes(path) as stream:
            return io.BytesIO(stream.read())
    except READ_ERRORS as error:
        raise damaged(path, error) from error


def _pdf_text(path: Path | str) -> tuple[str, str]:
    try:
        import pypdf
    except ImportError:
        raise MissingExtra("pypdf", "documents", "Reading a .pdf file") from None
    try:
        file = pypdf.PdfReader(_whole(path))
        pages = [page.extract_text() for page in file.pages]
        title = str((file.metadata or {}).get("/Title") or "")
    except Exception as error:  # of many kinds: no PDF, cut short, locked by a password
        raise _unreadable(path, "PDF", error) from error
    return "\n\n".join(pages), title


def _docx_text(path: Path | str) -> tuple[str, str]:
    try:
        import docx
    except ImportError:
        raise MissingExtra("python-docx", "documents", "Reading a .docx file") from None
    try:
        file: Any = docx.Document(_whole(path))
        rows = [
            "\t".join(cell.text for cell in row.cells)
            for part in file.iter_inner_content()
            for row in getattr(part, "rows", [])
            if row
        ]
        paragraphs = [paragraph.text for paragraph in file.paragraphs]
        title = str(file.core_properties.title or "")
    except Exception as error:
        raise _unreadable(path, "DOCX", error) from error
    return "\n\n".join([*paragraphs, *rows]), title


def _unreadable(path: Path | str, kind: str, error: Exception) -> DataError:
    why = " ".join(str(error).split()) or type(error).__name__
    return DataError(f"{named(path)} is not a {kind} file that can be read: {why:.200}. Write it again as text.")


_BINARY: dict[str, Callable[[Path | str], tuple[str, str]]] = {".pdf": _pdf_text, ".docx": _docx_text}
