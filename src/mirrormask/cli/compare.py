"""`mirrormask compare`: is this difference real, or did one method have better seeds?"""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def compare(
    runs: list[Path] = typer.Argument(..., help="Folders of runs over seeds: one run, a recipe's, or a whole study."),
    baseline: str = typer.Option(
        "", "--baseline", "-b", help="The row the others are held against.", show_default="the recipe named first"
    ),
    rows: list[str] = typer.Option(
        [], "--rows", help="Row to show, may be repeated, in this order.", show_default="all"
    ),
    tasks: list[str] = typer.Option(
        [], "--task", "-t", help="STS task, may be repeated.", show_default="all there are"
    ),
    form: str = typer.Option("terminal", "--format", "-f", help="Of the table: terminal, markdown or latex."),
    figures: Path = typer.Option(None, "--figures", help="Folder to draw figures into, as PNG."),
    resamples: int = typer.Option(1000, "--resamples", help="Of the bootstrap over pairs and seeds; 0 leaves it out."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Compare runs over seeds: mean ± deviation, tests paired by seed, and a plain verdict.

    The runs come from [bold]mirrormask run a.toml b.toml --seeds 1,2,3,4,5,6 --out runs/ab[/bold]

    [bold]mirrormask compare runs/ab --figures figures[/bold], and as a page: [bold]mirrormask study runs/ab[/bold]
    """
    from mirrormask.core.errors import one_of
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.evaluation.statistics.bootstrap import check_resamples
    from mirrormask.reporting.tables import FORMATS, latex, markdown
    from mirrormask.study.compare import compare_rows
    from mirrormask.study.rows import chosen_rows, find_rows
    from mirrormask.study.seed_figures import draw_comparison
    from mirrormask.study.seed_tables import comparison_table

    output = Output(as_json=as_json, quiet=quiet)
    one_of("format", form, FORMATS, of="a comparison")
    check_resamples(resamples, fewest=0, of="a comparison")
    if figures is not None:
        check_writable(figures)
        spare_inputs(runs, into=figures, option="--figures")
    found = compare_rows(chosen_rows(find_rows(runs), rows), baseline=baseline, tasks=tasks, resamples=resamples)
    drawn = draw_comparison(found, figures) if figures is not None else []

    def show() -> None:
        table = comparison_table(found)
        if form == "terminal":
            output.report(table)
        else:
            output.line((markdown if form == "markdown" else latex)(table))
        for path in drawn:
            output.line(f"Figure: {path}")

    output.result({**found.to_dict(), "figures": [str(path) for path in drawn]}, show)
