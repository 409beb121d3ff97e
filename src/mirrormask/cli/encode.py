"""`mirrormask encode`: texts in, vectors out, without holding either in memory."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def encode(
    source: str = typer.Argument(..., help="A file (.txt .csv .tsv .jsonl .parquet, also compressed), or - for stdin."),
    out: Path = typer.Option(
        ..., "--out", "-o", help="Where the vectors go: .npy (vectors only) or .parquet (texts too)."
    ),
    model: str = typer.Option("mini-sentence", "--model", "-m", help="Model name or folder."),
    column: str = typer.Option("", "--column", help="The column to read, where the file has several."),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16."),
    normalize: bool = typer.Option(False, "--normalize", help="Scale every vector to length 1."),
    resume: bool = typer.Option(False, "--resume", help="Go on with the vectors that a killed run left beside OUT."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Encode every text of a file, row by row, streaming.

    [bold]mirrormask encode reviews.csv --column text --model my-encoder --out reviews.npy[/bold]

    Then [bold]numpy.load("reviews.npy")[/bold] in Python: row i is the vector of row i.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from mirrormask.core.wording import counted
    from mirrormask.data.text.compression import check_file

    check_file(source)  # before anything slow is imported
    from mirrormask.cli.running import resume_command
    from mirrormask.data.text.compression import STDIN
    from mirrormask.runs.encode import encode_file
    from mirrormask.runs.vector_file import unfinished

    output = Output(as_json=as_json, quiet=quiet)
    columns = (SpinnerColumn(), TextColumn("encoding"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=output.err, disable=output.quiet or not output.err.is_terminal, transient=True
    ) as bar:
        task = bar.add_task("encoding", total=None)
        try:
            done = encode_file(
                source,
                out,
                model=model,
                column=column or None,
                precision=precision,
                normalize=normalize,
                resume=resume,
                progress=lambda count: bar.advance(task, count),
            )
        except BaseException:
            if unfinished(out).is_dir() and source != STDIN:
                output.say(f"The vectors so far are kept. Go on with: {resume_command()}")
            raise
    for note in done["notes"]:
        output.say(f"{note}.")
    said = f"{counted(done['rows'], 'vector')} of {done['dimension']} numbers in {out}"
    output.result(done, lambda: output.line(said))
