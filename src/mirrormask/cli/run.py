"""`mirrormask run`: a recipe, with changes."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def run(
    recipe: Path = typer.Argument(..., help="A recipe in TOML."),
    overrides: list[str] = typer.Argument(None, help="Changes, as key=value: training.steps=100 seed=7"),
    out: Path = typer.Option(None, "--out", "-o", help="Folder of the run.", show_default="runs/NAME"),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Run a recipe.

    [bold]mirrormask run recipes/simcse-unsup.toml seed=7 --out runs/simcse-7[/bold]
    """
    from mirrormask.cli.running import perform
    from mirrormask.experiments.recipe import read_recipe

    perform(
        read_recipe(recipe, overrides or []),
        out or Path("runs") / recipe.stem,
        resume=resume,
        output=Output(as_json=as_json, quiet=quiet),
    )
