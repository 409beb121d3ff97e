"""Real processes that need not import for seconds: forks of one that holds the slow libraries, and nothing of ours."""

from __future__ import annotations

import multiprocessing
import os
import time
import uuid
from collections.abc import Callable
from pathlib import Path

CLI = "from mirrormask.cli import main; main()"
PROGRAM = """
import os, signal, sys
os.environ.clear()
os.environ.update(environment)
for place, path in enumerate(said, start=1):
    os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), place)
signal.signal(signal.SIGINT, signal.default_int_handler)
os.chdir(cwd)
sys.path[:0] = paths
sys.argv = arguments
exec(code, {"__name__": "__main__"})
"""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    ["sentence_transformers", "accelerate", "peft", "transformers.models.bert.modeling_bert", "scipy.stats"]
)


class Forked:
    """A process, begun.

    Args:
        folder: where what it says is kept.
        arguments: of the command line, the name of the program first.
        code: what it runs.
        cwd: where it works.
        environment: besides that of this process.
        paths: where it looks for modules first.
    """

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        code: str = CLI,
        cwd: Path | None = None,
        environment: dict[str, str] | None = None,
        paths: tuple[str, ...] = (),
    ) -> None:
        name = uuid.uuid4().hex
        self._said = [folder / f"{name}.out", folder / f"{name}.err"]
        given = {
            "said": [str(path) for path in self._said],
            "environment": {**os.environ, **(environment or {})},
            "cwd": str(cwd or Path.cwd()),
            "arguments": list(arguments),
            "paths": list(paths),
            "code": code,
        }
        self._process = processes.Process(target=exec, args=(PROGRAM, given), daemon=True)
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid

    def poll(self) -> int | None:
        """Return the exit code, None while it runs."""
        return self._process.exitcode

    def until(self, happened: Callable[[], bool]) -> None:
        """Wait until something happened, or the process ended, two minutes at most."""
        begun = time.monotonic()
        while not happened() and self.poll() is None and time.monotonic() - begun < 120:
            time.sleep(0.002)

    def send_signal(self, how: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, how)

    def ended(self, timeout: float = 60) -> tuple[int, str, str]:
        """Wait for its end, and kill it where it takes too long; return exit code, stdout and stderr."""
        self._process.join(timeout)
        self._process.kill()
        self._process.join()
        said, complained = (path.read_text(encoding="utf-8") if path.is_file() else "" for path in self._said)
        assert self._process.exitcode is not None
        return self._process.exitcode, said, complained
