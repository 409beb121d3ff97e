"""The progress bar of training: loss, rate, time left, and each evaluation as it comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mirrormask.cli.output import Output

if TYPE_CHECKING:
    from mirrormask.runs.runner import Reporter


def reporter_for(output: Output) -> Reporter:
    """Return a reporter that shows a run on the terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from mirrormask.models.precision import Precision
    from mirrormask.runs.runner import Reporter, Score

    class Terminal(Reporter):
        def __init__(self) -> None:
            self.bar = Progress(
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("loss {task.fields[loss]}"),
                TextColumn("{task.fields[rate]}"),
                TextColumn("left"),
                TimeRemainingColumn(compact=True),
                console=output.err,
                disable=output.quiet,
            )
            self.task: Any = None

        def say(self, text: str) -> None:
            output.say(text)

        def start(self, total: int, done: int, precision: Precision) -> None:
            output.say(f"Computing in {precision.name}: {precision.reason}.")
            if done:
                output.say(f"Going on after step {done}.")
            if self.task is not None:  # of the run before, in a grid
                self.bar.remove_task(self.task)
            self.bar.start()
            self.task = self.bar.add_task("training", total=total, completed=done, loss="-", rate="")

        def step(self, step: int, metrics: dict[str, float]) -> None:
            rate = f"{metrics['steps_per_second']:,.1f} steps/s"
            if "tokens_per_second" in metrics:
                rate = f"{metrics['tokens_per_second']:,.0f} tokens/s ({metrics['utilization']:.0%} of peak)"
            self.bar.update(self.task, completed=step, loss=f"{metrics['loss']:.4f}", rate=rate)

        def evaluated(self, step: int, score: Score, best: bool) -> None:
            if not output.quiet:
                mark = " [green](best so far)[/green]" if best else ""
                shown = f"score {score.value:8.3f}"
                if "accuracy" in score.details:  # a masked LM: its score is minus its loss
                    shown = f"held-out loss {score.details['loss']:.3f}  accuracy {score.details['accuracy']:.1%}"
                self.bar.console.print(f"  step {step:>6}  {shown}{mark}")

        def stop(self) -> None:
            self.bar.stop()

    return Terminal()
