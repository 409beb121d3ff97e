"""What commands share: where output goes, how errors look, and what the exit code is.

Results go to stdout, everything said along the way to stderr, so that `--json` output can be piped.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

import typer

from mirrormask.core.errors import MirrormaskError

Json = typer.Option(False, "--json", help="Print the result as one JSON object on stdout.")
Quiet = typer.Option(False, "--quiet", "-q", help="Print only the result and errors.")


class Output:
    """Prints for one command.

    Args:
        as_json: the result is one JSON object.
        quiet: nothing is said along the way.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        from rich.console import Console

        self.as_json = as_json
        self.quiet = quiet or as_json
        self.out = Console(highlight=False)
        self.err = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """Say something along the way."""
        if not self.quiet:
            self.err.print(text, markup=False, soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        """Print a line of the result as it is: paths and commands stay in one piece, to be copied."""
        self.out.print(text, style=style or None, markup=False, soft_wrap=True)

    def result(self, content: dict[str, Any], show: Callable[[], None]) -> None:
        """Print the result: as JSON, or as `show` does."""
        if self.as_json:
            sys.stdout.write(json.dumps(_finite(content), ensure_ascii=False, indent=2, default=str) + "\n")
        else:
            show()

    def table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
        """Print a table whose columns from `left` on are numbers."""
        from rich.table import Table
        from rich.text import Text

        look = {"title_justify": "left", "title_style": "bold", "header_style": "bold"}
        table = Table(title=title or None, box=None, pad_edge=False, **look)  # type: ignore[arg-type]
        for place, name in enumerate(header):
            table.add_column(name, justify="left" if place < left else "right", overflow="fold")
        for row in rows:
            table.add_row(*map(Text, row))  # brackets in a name or path are no markup
        self.out.print(table)


def run_safely(app: typer.Typer) -> int:
    """Run the app and return its exit code; an error of the user's is one sentence, never a traceback."""
    arguments = sys.argv[1:]
    try:
        with _interrupt_is_ours():
            app(args=arguments, prog_name="mirrormask")
        return 0
    except MirrormaskError as error:
        return _fail(str(error), error.exit_code, arguments)
    except SystemExit as error:  # how the library ends, with 2 for wrong usage
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except (KeyboardInterrupt, _Stopped):
        return _fail("Stopped.", 130, arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if error.errno is None:
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        where = f" {error.filename}" if error.filename else ""
        rest = "Free some space and repeat the command." if full else "Check the path and its permissions."
        return _fail(f"The file system refused{where}: {error.strerror}. {rest}", 5 if full else 2, arguments)


class _Stopped(BaseException):
    """Ctrl-C, under a name that the library does not turn into an exit code of its own."""


@contextlib.contextmanager
def _interrupt_is_ours() -> Iterator[None]:
    def stop(signum: int, frame: FrameType | None) -> None:
        raise _Stopped

    try:
        before = signal.signal(signal.SIGINT, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _finite(value: Any) -> Any:
    """Return the value with null for every number that JSON cannot write."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        sys.stdout.write(json.dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n")
    else:
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True, highlight=False).print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    return code
