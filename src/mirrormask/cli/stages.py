"""Bars of the stages of a long command, one under the other."""

from __future__ import annotations

from typing import Any

from mirrormask.cli.output import Output


class Stages:
    """Bars of the stages of a command, with time left where the end is known."""

    def __init__(self, output: Output) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn
        from rich.progress import TimeRemainingColumn as Left

        self.output = output
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            Left(),
            console=output.err,
            disable=output.quiet or not output.err.is_terminal,
            transient=True,
        )
        self.tasks: dict[str, Any] = {}

    def __enter__(self) -> Stages:
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def progress(self, stage: str, done: int, total: int | None) -> None:
        """Show that something of a stage was done; where no bar is shown, say that a long one begins."""
        if stage not in self.tasks:
            self.tasks[stage] = self.bar.add_task(stage, total=total)
            if total is not None and stage == "encoding" and not self.output.err.is_terminal:
                self.output.say(f"Encoding {total:,} passages.")
        self.bar.update(self.tasks[stage], advance=done, total=total)
