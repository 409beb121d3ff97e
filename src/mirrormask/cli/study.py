"""`mirrormask study`: a page of tables, figures and verdicts from the runs of a whole study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def study(
    description: Path = typer.Argument(..., metavar="STUDY", help="What the page is made of, in TOML."),
    runs: list[Path] = typer.Argument(..., help="Folders of runs over seeds."),
    out: Path = typer.Option(None, "--out", "-o", help="Folder of the page.", show_default="beside STUDY"),
    resamples: int = typer.Option(1000, "--resamples", help="Of the bootstrap over pairs and seeds; 0 leaves it out."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Write the page of a study: every number on it comes from run folders, and missing rows are named.

    [bold]mirrormask study docs/results/simcse-study.toml runs/study[/bold]
    """
    from mirrormask.core.errors import at_least
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.study.description import gather, read_study
    from mirrormask.study.study_page import write_study

    output = Output(as_json=as_json, quiet=quiet)
    at_least("resamples", resamples, 0, of="a study")
    asked = read_study(description)
    folder = out or description.parent
    check_writable(folder)
    written_to = [folder / f"{asked.name}{ending}" for ending in ("", ".md", ".json")]
    spare_inputs([description, *runs], replaced=written_to)
    found = gather(asked, runs, resamples=resamples)
    written = write_study(found, folder, command=shlex.join(["mirrormask", *sys.argv[1:]]))

    def show() -> None:
        output.line(f"Page: {written[0]}")
        if found.missing:
            output.line(f"Missing rows: {', '.join(found.missing)}")

    output.result({"written": [str(path) for path in written], "missing": found.missing}, show)
