"""What commands share: where output goes, how errors look, and what the exit code is.

Results go to stdout, everything said along the way to stderr, so that `--json` output can be piped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
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
        self.out = Console(highlight=False, soft_wrap=False)
        self.err = Console(stderr=True, highlight=False)

    def say(self, text: str) -> None:
        """Say something along the way."""
        if not self.quiet:
            self.err.print(text)

    def result(self, content: dict[str, Any], show: Callable[[], None]) -> None:
        """Print the result: as JSON, or as `show` does."""
        if self.as_json:
            sys.stdout.write(json.dumps(content, ensure_ascii=False, indent=2, default=str) + "\n")
        else:
            show()

    def table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
        """Print a table whose columns from `left` on are numbers."""
        from rich.table import Table

        table = Table(title=title or None, title_justify="left", title_style="bold", header_style="bold", box=None, pad_edge=False)
        for place, name in enumerate(header):
            table.add_column(name, justify="left" if place < left else "right", overflow="fold")
        for row in rows:
            table.add_row(*row)
        self.out.print(table)


def run_safely(app: typer.Typer) -> int:
    """Run the app and return its exit code; an error of the user's is one sentence, never a traceback."""
    arguments = sys.argv[1:]
    try:
        app(args=arguments)
        return 0
    except MirrormaskError as error:
        return _fail(str(error), error.exit_code, arguments)
    except SystemExit as error:  # how the library ends, with 2 for wrong usage
        return error.code if isinstance(error.code, int) else 0 if error.code is None else 1
    except KeyboardInterrupt:
        return _fail("Stopped.", 130, arguments)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    if "--json" in arguments:
        sys.stdout.write(json.dumps({"error": message, "exit_code": code}, ensure_ascii=False) + "\n")
    else:
        from rich.console import Console
        from rich.text import Text

        Console(stderr=True, highlight=False).print(Text.assemble(("Error: ", "bold red"), message))
    return code
