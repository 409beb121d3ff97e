"""The terminal as it is: narrow or redirected, of any encoding, left by its reader, and never steered by data."""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions
from rich.segment import Segment

ENDLESS = 10_000
"""Columns of what is no terminal: a file takes lines of any length."""

_CONTROLS = re.compile("[\0-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_PLAIN = {"±": "+-", "–": "-", "—": "-", "→": "->", "…": "...", "×": "x", "“": '"', "”": '"', "’": "'"}


def clean(text: str) -> str:
    r"""Return a text in which what would steer a terminal is written out: escapes, overrides, halves of characters.

    Example:
        >>> clean("a\x1b[31mred\u202e\n")
        'a\\x1b[31mred\\u202e\n'
    """
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], text)


def clean_json(text: str) -> str:
    """Return JSON in which the same characters are escaped; it reads back as it was."""
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


class Terminal(Console):
    """A console that prints whatever it is given as text; once its reader has left, the rest goes nowhere.

    Args:
        stderr: print there instead of to stdout.
    """

    def __init__(self, *, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, highlight=False, emoji=False)
        if not self.is_terminal:
            self.width = ENDLESS

    def render(self, renderable: Any, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed, cleaned."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(clean(segment.text), segment.style)

    def on_broken_pipe(self) -> None:
        """Carry on without a reader: the work is not over because nobody looks."""
        leave(self.file)


def leave(stream: Any) -> None:
    """Let what is still to be written to a stream go nowhere, and fail no more."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # no real file
        pass


def prepare_streams() -> None:
    """Make stdout and stderr take any text: one that is closed or of a small encoding does not stop the work."""
    codecs.register_error("mirrormask-plain", _plain)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: PTH123, SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="mirrormask-plain")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write what an encoding lacks in plainer signs, or as an escape."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(sign) or sign.encode("ascii", "backslashreplace").decode() for sign in lost), error.end
