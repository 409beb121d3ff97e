"""`mirrormask encode`: texts in, vectors out, without holding either in memory."""

from __future__ import annotations

import contextlib
import threading
from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.engine import Address, EngineName, Workers, engine_named
from mirrormask.cli.output import Json, Output, Quiet


def encode(
    source: str = typer.Argument(
        ...,
        help="A file (.txt .csv .tsv .jsonl .parquet, also compressed), or - for stdin; for shards also a folder.",
    ),
    out: Path = typer.Option(
        ...,
        "--out",
        "-o",
        help="Where the vectors go: .npy (vectors only), .parquet (texts too), or a folder of .parquet shards.",
    ),
    model: str = typer.Option("mini-sentence", "--model", "-m", help="Model name or folder."),
    column: str = typer.Option("", "--column", help="The column to read, where the file has several."),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16."),
    normalize: bool = typer.Option(False, "--normalize", help="Scale every vector to length 1."),
    backend: str = typer.Option(
        "auto", "--backend", help="What computes: torch, openvino, onnx; auto is the quickest that gives the same."
    ),
    resume: bool = typer.Option(False, "--resume", help="Go on with the vectors that a killed run left beside OUT."),
    engine: str = EngineName,
    address: str = Address,
    workers: int = Workers,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Encode every text of a file, row by row, streaming.

    [bold]mirrormask encode reviews.csv --column text --model my-encoder --out reviews.npy[/bold]

    Then [bold]numpy.load("reviews.npy")[/bold] in Python: row i is the vector of row i.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import TimeRemainingColumn as Left

    from mirrormask.core.wording import counted
    from mirrormask.data.text.compression import STDIN, check_file

    chosen = engine_named(engine, address=address, workers=workers)
    sharded = chosen.remote or not out.suffix
    if not sharded or not Path(source).is_dir():
        check_file(source)  # before anything slow is imported
    from mirrormask.cli.running import resume_command
    from mirrormask.runs.encode import encode_file
    from mirrormask.runs.vector_file import unfinished

    output = Output(as_json=as_json, quiet=quiet)
    columns = (SpinnerColumn(), TextColumn("encoding"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), Left())
    with Progress(
        *columns, console=output.err, disable=output.quiet or not output.err.is_terminal, transient=True
    ) as bar:
        task = bar.add_task("encoding", total=None)
        if not bar.disable and source != STDIN:
            threading.Thread(target=_count, args=(source, bar, task), daemon=True).start()
        try:
            done = encode_file(
                source,
                out,
                model=model,
                column=column or None,
                precision=precision,
                normalize=normalize,
                backend=backend,
                resume=resume,
                progress=lambda count: bar.advance(task, count),
                engine=chosen,
            )
        except BaseException:
            if unfinished(out).is_dir() and source != STDIN:
                output.say(f"The vectors so far are kept. Go on with: {resume_command()}")
            raise
    for note in done["notes"]:
        output.say(f"{note}.")
    inside = f" in {counted(done['shards'], 'shard')}" if sharded else ""
    by = f", by {done['backend']}" if "backend" in done else ""
    said = f"{counted(done['rows'], 'vector')} of {done['dimension']} numbers{inside} in {out}{by}"
    output.result(done, lambda: output.line(said))


def _count(source: str, bar: Any, task: Any) -> None:
    """Tell a bar how many texts there are, once they are counted; without that it goes on as it is."""
    from mirrormask.data.text.files import about_rows
    from mirrormask.runs.encode_shards import text_files

    with contextlib.suppress(Exception):  # whoever reads the texts says what is wrong with them
        bar.update(task, total=sum(about_rows(file.path) for file in text_files(source)))
