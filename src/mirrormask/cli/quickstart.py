"""`mirrormask quickstart`: train and measure an encoder in a few minutes, offline."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.cli.progress import reporter_for


def quickstart(
    out: Path = typer.Option(Path("mirrormask-quickstart"), "--out", "-o", help="Folder for encoder and report."),
    model: str = typer.Option("mini", "--model", "-m", help="Where to start."),
    steps: int = typer.Option(180, "--steps", help="Updates; 180 take about two minutes on two CPU cores."),
    functions: int = typer.Option(2000, "--functions", help="Functions held out to measure with."),
    searched: int = typer.Option(4000, "--searched", help="Other functions searched for an answer."),
    read: list[Path] = typer.Option(
        None, "--read", help="A folder of Python packages; may be repeated.", show_default="those of this interpreter"
    ),
    seed: int = typer.Option(42, "--seed", help="Same seed, same encoder."),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train an encoder on the docstrings installed on this machine, and see what that gains: offline, in minutes.

    [bold]mirrormask quickstart[/bold]

    It reads the packages around it, trains, and searches functions it has never seen by their names, before and after.
    It ends with an index of them, searched by words, by vectors and by both.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from mirrormask.cli.running import resume_command
    from mirrormask.runs.quickstart import QUESTIONS, shown
    from mirrormask.runs.quickstart import quickstart as start
    from mirrormask.training.loop import Interrupted

    output = Output(as_json=as_json, quiet=quiet)
    with Progress(
        TextColumn("reading docstrings"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("files"),
        console=output.err,
        disable=output.quiet or not output.err.is_terminal,
        transient=True,
    ) as bar:
        reading = bar.add_task("reading")

        def told(done: int, total: int) -> None:
            bar.update(reading, completed=done, total=total)
            if done == total:
                bar.stop()

        try:
            found = start(
                out,
                model=model,
                steps=steps,
                functions=functions,
                searched=searched,
                paths=read or None,
                seed=seed,
                resume=resume,
                reporter=reporter_for(output),
                progress=told,
            )
        except Interrupted as stop:
            raise Interrupted(f"{stop} Go on with: {resume_command()}") from None

    def show() -> None:
        for table in found.evaluation.tables():
            output.report(table)
        for question, pair in found.answers.items():
            output.line(f"{question}?", style="bold")
            for when, answer in zip(("before", "after"), pair, strict=True):
                output.line(f"  {when:<7}{shown(answer.function, answer.summary)}")
        before, after = found.gain()
        gain = f" ({after / before - 1:+.0%})" if before else ""
        output.line(f"\nMRR@10 {before:.3f} → {after:.3f}{gain}", style="bold green")
        if found.record["result"]["best_step"] == 0:
            output.line("Training did not help: this is the model you started from.")
        output.line("\nThe same functions, searched:")
        for question, hits in found.found.items():
            output.line(f"{question}?", style="bold")
            for mode, hit in hits.items():
                output.line(f"  {mode:<8}{shown(hit.id, hit.passage) if hit else '–'}")
        output.line(f"\nEncoder: {found.model}\nIndex:   {found.index}\nReport:  {found.page}")
        name = shlex.quote(str(out))
        output.line(f'Search: mirrormask search {shlex.quote(str(found.index))} "{QUESTIONS[0]}"')
        output.line(f'Next: mirrormask similarity "read a csv file" "load a table from disk" --model {name}')
        output.line("Your own text: mirrormask train my.txt --out my-encoder")

    output.result(found.to_dict(), show)
