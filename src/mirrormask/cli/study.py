"""`mirrormask study`: a page of tables, figures and verdicts from the runs of a whole study."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def study(
    what: list[Path] = typer.Argument(
        ...,
        metavar="[STUDY.toml] RUNS...",
        help="What the page is made of, in TOML (without one: all rows in one table), then folders of runs over seeds, "
        "or the JSON record of an earlier page.",
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder of the page.", show_default="beside STUDY.toml, or this one"
    ),
    resamples: int = typer.Option(1000, "--resamples", help="Of the bootstrap over pairs and seeds; 0 leaves it out."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Write the page of a study: every number on it comes from run folders, and missing rows are named.

    The runs come from [bold]mirrormask run a.toml b.toml --seeds 1,2,3,4,5,6 --out runs/ab[/bold]

    [bold]mirrormask study runs/ab[/bold], or with words and tables of your own:
    [bold]mirrormask study my-study.toml runs/ab[/bold]
    """
    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.evaluation.statistics.bootstrap import check_resamples
    from mirrormask.study.gathering import gather
    from mirrormask.study.study_file import PLAIN, read_study
    from mirrormask.study.study_page import write_study

    output = Output(as_json=as_json, quiet=quiet)
    check_resamples(resamples, fewest=0, of="a study")
    described = what[0].suffix == ".toml"
    asked = read_study(what[0]) if described else None
    sources = what[described:]
    if not sources:
        raise MirrormaskError(f"Name the folders of runs that the page of {what[0]} is written from.")
    folder = out or (what[0].parent if described else Path())
    check_writable(folder)
    name = asked.name if asked else PLAIN
    spare_inputs(
        what, replaced=[folder / f"{name}{ending}" for ending in ("", ".md")]
    )  # a record may be its own page's
    found = gather(asked, sources, resamples=resamples)
    written = write_study(found, folder, command=shlex.join(["mirrormask", *sys.argv[1:]]))

    def show() -> None:
        output.line(f"Page: {written[0]}")
        if found.missing:
            output.line(f"Missing rows: {', '.join(found.missing)}")
        for row in found.rows.values():
            if row.kept_start == len(row.runs):
                output.line(f"{row.name}: training did not help, every seed kept its start.")

    output.result({"written": [str(path) for path in written], "missing": found.missing}, show)
