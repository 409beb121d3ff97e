"""What commands share: where output goes, how errors look, and what the exit code is.

Results go to stdout, everything said along the way to stderr, so that `--json` output can be piped.
"""

from __future__ import annotations

import contextlib
import errno
import json
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import typer

from mirrormask.core.errors import MirrormaskError, MirrormaskWarning
from mirrormask.core.finite import finite

if TYPE_CHECKING:
    from mirrormask.reporting.tables import Table

Json = typer.Option(False, "--json", help="Print the result as one JSON object on stdout.")
Quiet = typer.Option(False, "--quiet", "-q", help="Print only the result and errors.")


_warned: list[str] = []  # by this command


class Output:
    """Prints for one command.

    Args:
        as_json: the result is one JSON object.
        quiet: nothing is said along the way.
    """

    def __init__(self, *, as_json: bool = False, quiet: bool = False) -> None:
        from mirrormask.cli.terminal import Terminal

        self.as_json = as_json
        self.quiet = quiet or as_json
        self.out = Terminal()
        self.err = Terminal(stderr=True)

    def say(self, text: str) -> None:
        """Say something along the way."""
        if not self.quiet:
            self.err.print(text, markup=False, soft_wrap=True)

    def line(self, text: str, style: str = "") -> None:
        """Print a line of the result as it is: paths and commands stay in one piece, to be copied."""
        self.out.print(text, style=style or None, markup=False, soft_wrap=True)

    @contextlib.contextmanager
    def steps(self) -> Iterator[Callable[[str, int, int], None]]:
        """Yield what shows how far the parts of the work are: a bar for each, or a line where no bar can be seen."""
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        hidden = self.quiet or not self.err.is_terminal
        with Progress(*columns, console=self.err, disable=hidden, transient=True) as bar:
            bars: dict[str, Any] = {}

            def step(name: str, done: int, total: int) -> None:
                if name not in bars:
                    bars[name] = bar.add_task(name, total=total)
                    if not self.err.is_terminal:
                        self.say(f"{name[:1].upper()}{name[1:]}: {total:,}.")
                bar.advance(bars[name], done)

            yield step

    def result(self, content: dict[str, Any], show: Callable[[], None]) -> None:
        """Print the result: as JSON, with what was warned of, or as `show` does."""
        if self.as_json:
            _write_json({**content, "warnings": list(_warned)} if _warned else content, indent=2)
        else:
            show()

    def table(self, title: str, header: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> None:
        """Print a table whose columns from `left` on are numbers."""
        from mirrormask.cli.terminal_tables import draw

        draw(self.out, title, header, rows, texts=range(left))

    def report(self, table: Table) -> None:
        """Print a table of a report with its note; emphasized rows are bold."""
        from mirrormask.cli.terminal_tables import draw

        draw(self.out, table.title, table.columns, table.rows, texts={0, *table.texts}, bold=table.emphasized)
        if table.note:
            self.line(table.note, style="dim")
        self.line("")


def run_safely(app: typer.Typer) -> int:
    """Run the app and return its exit code; an error of the user's is one sentence, never a traceback."""
    from mirrormask.cli.terminal import prepare_streams

    arguments = sys.argv[1:]
    prepare_streams()
    try:
        with _interrupt_is_ours(), _warnings_are_ours(arguments):
            code = app(args=arguments, prog_name="mirrormask", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except MirrormaskError as error:
        return _fail(str(error), error.exit_code, arguments)
    except SystemExit as error:  # the libraries' own way to end where the reader of stdout has left
        return error.code if isinstance(error.code, int) and error.code != 1 else 0
    except (KeyboardInterrupt, _Stopped):
        return _fail("Stopped.", 130, arguments)
    except BrokenPipeError:  # whoever asked has seen enough
        _leave_if_broken(sys.stdout)
        return 0
    except OSError as error:
        if error.errno is None:
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        where = f" {error.filename}" if error.filename else ""
        rest = "Free some space and repeat the command." if full else "Check the path and its permissions."
        return _fail(f"The file system refused{where}: {error.strerror}. {rest}", 5 if full else 2, arguments)
    except Exception as error:
        if not hasattr(error, "format_message"):  # what the parser of options raises, in whatever edition
            raise
        return _wrong_usage(error, arguments)


class _Stopped(BaseException):
    """Ctrl-C or a polite kill, under a name that the library does not turn into an exit code of its own."""


@contextlib.contextmanager
def _interrupt_is_ours() -> Iterator[None]:
    """Let Ctrl-C and a polite kill stop the command; once it was stopped, no other disturbs its way out."""
    before: dict[signal.Signals, Any] = {}

    def answer(handlers: dict[signal.Signals, Any]) -> None:
        for name, handler in handlers.items():
            signal.signal(name, handler)

    def stop(signum: int, frame: FrameType | None) -> None:
        answer(dict.fromkeys(before, signal.SIG_IGN))
        raise _Stopped

    with contextlib.suppress(ValueError):  # not the main thread
        for name in (signal.SIGINT, signal.SIGTERM):
            before[name] = signal.signal(name, stop)
    try:
        yield
    except BaseException as error:
        stopped = isinstance(error, _Stopped) or getattr(error, "exit_code", 0) == 130
        answer(dict.fromkeys(before, signal.SIG_IGN) if stopped else before)
        raise
    answer(before)


@contextlib.contextmanager
def _warnings_are_ours(arguments: Sequence[str]) -> Iterator[None]:
    """Say our own warnings once, in a line of their own and without a place in the source."""
    _warned.clear()
    quiet = not {"--json", "--quiet", "-q"}.isdisjoint(arguments)
    with warnings.catch_warnings():
        others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if not issubclass(category, MirrormaskWarning):
                others(message, category, *place, **more)
            elif str(message) not in _warned:
                _warned.append(str(message))
                if not quiet:
                    from rich.text import Text

                    from mirrormask.cli.terminal import Terminal

                    said = Text.assemble(("Warning: ", "bold yellow"), str(message))
                    Terminal(stderr=True).print(said, soft_wrap=True)

        warnings.showwarning = show
        warnings.simplefilter("always", MirrormaskWarning)
        yield


def _write_json(content: dict[str, Any], indent: int | None = None) -> None:
    from mirrormask.cli.terminal import clean_json

    plain = not (sys.stdout.encoding or "utf-8").lower().startswith("utf")
    sys.stdout.write(clean_json(json.dumps(finite(content), ensure_ascii=plain, indent=indent, default=str)) + "\n")
    sys.stdout.flush()


def _wrong_usage(error: Any, arguments: Sequence[str]) -> int:
    """Say what is wrong with the options, and where the right ones are listed."""
    if error.ctx is not None and "--json" not in arguments:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return MirrormaskError.exit_code
        hint = f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help."
        Output().say(hint)
    return _fail(" ".join(error.format_message().split()), MirrormaskError.exit_code, arguments)


def _leave_if_broken(stream: Any) -> None:
    """Let a stream that cannot be written go nowhere, so that the end of the process does not fail on it again."""
    from mirrormask.cli.terminal import leave

    try:
        stream.flush()
    except OSError:
        leave(stream)


def _fail(message: str, code: int, arguments: Sequence[str]) -> int:
    from rich.text import Text

    from mirrormask.cli.terminal import Terminal

    try:
        if "--json" in arguments:
            _write_json({"error": message, "exit_code": code})
            return code
    except OSError:  # stdout is what failed
        pass
    _leave_if_broken(sys.stdout)
    with contextlib.suppress(OSError):
        Terminal(stderr=True).print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    _leave_if_broken(sys.stderr)
    return code
