"""The progress bar of training: loss, rate, time left, and each evaluation as it comes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mirrormask.cli.output import Output

if TYPE_CHECKING:
    from mirrormask.runs.runner import Reporter


def pace(steps_per_second: float) -> str:
    """Return how fast a run goes, as seconds of a step where a second is too short for one.

    Example:
        >>> pace(12.34), pace(0.04)
        ('12.3 steps/s', '25.0 s/step')
    """
    if 0 < steps_per_second < 1:
        return f"{1 / steps_per_second:,.1f} s/step"
    return f"{steps_per_second:,.1f} steps/s"


def measured(row: Mapping[str, float], name: str = "score") -> str:
    """Return what an evaluation found, in words: a loss as a loss, though the score that chooses is minus it.

    Args:
        row: the score and its details.
        name: of a score that is no loss.

    Example:
        >>> measured({"score": -1.2, "held_out_loss": 1.204}), measured({"score": 71.25}, "spearman on stsb-dev")
        ('held-out loss 1.204', 'spearman on stsb-dev 71.25')
        >>> measured({"score": 61.5, "mood accuracy": 0.482, "near Pearson": 0.748}, "average")
        'average 61.50  mood accuracy 48.2%  near Pearson 74.8%'
    """
    if "held_out_loss" in row:
        return f"held-out loss {row['held_out_loss']:.3f}"
    if "accuracy" in row:  # of a masked LM
        return f"held-out loss {row['loss']:.3f}  accuracy {row['accuracy']:.1%}"
    tasks = [f"  {key} {value:.1%}" for key, value in row.items() if " " in key]  # of several: the task, its measure
    return f"{name} {row['score']:.2f}{''.join(tasks)}"


def reporter_for(output: Output) -> Reporter:
    """Return a reporter that shows a run on the terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from mirrormask.models.precision import Precision
    from mirrormask.runs.runner import Reporter, Score
    from mirrormask.training.estimate import in_words

    class Terminal(Reporter):
        def __init__(self) -> None:
            self.bar = Progress(
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("loss {task.fields[loss]}"),
                TextColumn("{task.fields[rate]}"),
                TextColumn("{task.fields[left]}"),
                console=output.err,
                disable=output.quiet,
            )
            self.task: Any = None
            self.left, self.total = "", 0

        def say(self, text: str) -> None:
            output.say(text)

        def start(self, total: int, done: int, precision: Precision) -> None:
            output.say(f"Computing in {precision.name}: {precision.reason}.")
            if done:
                output.say(f"Going on after step {done}.")
            if self.task is not None:  # of the run before, in a grid
                self.bar.remove_task(self.task)
            self.bar.start()
            self.task = self.bar.add_task("training", total=total, completed=done, loss="-", rate="", left="")
            self.left, self.total = "", total

        def step(self, step: int, metrics: dict[str, float]) -> None:
            rate = pace(metrics["steps_per_second"])
            if "tokens_per_second" in metrics:
                rate = f"{metrics['tokens_per_second']:,.0f} tokens/s ({metrics['utilization']:.0%} of peak)"
            self.left = f"{in_words(metrics['seconds_left'])} left" if step < self.total else ""
            self.bar.update(self.task, completed=step, loss=f"{metrics['loss']:.4f}", rate=rate, left=self.left)

        def evaluated(self, step: int, score: Score, best: bool) -> None:
            if not output.quiet:
                mark = " [green](best so far)[/green]" if best else ""
                left = f"  {self.left}" if self.left else ""
                self.bar.console.print(
                    f"  step {step:>6}  {measured({'score': score.value, **score.details})}{mark}{left}"
                )

        def stop(self) -> None:
            self.bar.stop()

    return Terminal()
