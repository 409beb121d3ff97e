"""A process that makes others: each runs one command and kills itself at the n-th thing it does to a file.

It imports everything once, then reads a line of JSON for each command: its arguments, where to work, the folder whose
files count, and at which operation to die (0: never). It answers with the exit code and how many operations there were.
"""

from __future__ import annotations

import builtins
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

OPERATIONS = ("replace", "rename", "unlink", "remove", "rmdir", "mkdir", "fsync", "truncate")


class Killer:
    """Counts what is done to files below a folder, and dies at the n-th time, before it is done.

    Args:
        under: the folder.
        at: the number; 0 only counts.
    """

    def __init__(self, under: str, at: int) -> None:
        self.under, self.at, self.count = under, at, 0

    def install(self) -> None:
        """Put the count into every operation."""
        for name in OPERATIONS:
            setattr(os, name, self.counted(getattr(os, name)))
        kept = io.open

        def opened(file: Any, mode: str = "r", *rest: Any, **options: Any) -> Any:
            if set(mode) & set("wax+"):
                self.happens(file)
            return kept(file, mode, *rest, **options)

        io.open = builtins.open = opened  # type: ignore[assignment]

    def counted(self, operation: Any) -> Any:
        def call(*arguments: Any, **options: Any) -> Any:
            self.happens(arguments[0], options.get("dir_fd"))
            return operation(*arguments, **options)

        return call

    def happens(self, what: Any, folder: int | None = None) -> None:
        """Count an operation on a path or an open file."""
        try:
            base = Path.cwd() if folder is None else Path(f"/proc/self/fd/{folder}").readlink()
            path = Path(f"/proc/self/fd/{what}").readlink() if isinstance(what, int) else base / os.fsdecode(what)
        except (OSError, TypeError):
            return
        if not path.is_relative_to(self.under):
            return
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def perform(order: dict[str, Any]) -> None:
    """Run one command in this process and end it."""
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.chdir(order["folder"])
    os.environ.update(order["environment"])
    killer = Killer(order["under"], order["at"])
    killer.install()
    sys.argv = ["mirrormask", *order["arguments"]]
    code = 1
    try:
        from mirrormask.cli import main
        from mirrormask.core import blocks

        blocks.BLOCK = 32  # so that a small file has several blocks
        main()
    except SystemExit as stop:
        code = int(stop.code or 0)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        Path(order["log"] + ".count").write_text(str(killer.count))
        os._exit(code)


def serve() -> None:
    """Answer orders until there are no more."""
    import mirrormask.cli
    import mirrormask.runs.encode
    import mirrormask.runs.pretrain
    import mirrormask.study.grid  # noqa: F401

    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            perform(order)
        _, status = os.waitpid(child, 0)
        counted = Path(order["log"] + ".count")
        answer = {"code": os.waitstatus_to_exitcode(status), "count": 0}
        if counted.exists():
            answer["count"] = int(counted.read_text())
            counted.unlink()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    serve()
