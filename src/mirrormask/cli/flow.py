"""`mirrormask flow`: map the space of a model's vectors to a Gaussian."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.cli.whiten import COLUMN, CORPUS, FOR, LIMIT, MODEL, OUT, POOLING, fit


def flow(
    model: str = MODEL,
    corpus: list[str] = CORPUS,
    out: Path = OUT,
    levels: int = typer.Option(3, "--levels", help="After each but the last, half of the dimensions leave."),
    depth: int = typer.Option(3, "--depth", help="Steps of a level."),
    width: int = typer.Option(32, "--width", help="Width of the couplings' hidden layers."),
    permutation: str = typer.Option("reverse", "--permutation", help="reverse, as published, or learned."),
    epochs: float = typer.Option(1.0, "--epochs", help="Passes over the vectors."),
    batch_size: int = typer.Option(64, "--batch-size", help="Vectors of an update."),
    learning_rate: float = typer.Option(1e-3, "--learning-rate", help="Of AdamW, constant."),
    seed: int = typer.Option(0, "--seed", help="Of order and weights."),
    meant_for: str = FOR,
    column: list[str] = COLUMN,
    pooling: str = POOLING,
    limit: int = LIMIT,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Learn an invertible map of a model's vectors to a Gaussian, as BERT-flow does, and keep it with the model.

    [bold]mirrormask flow mini my.txt --out my-encoder[/bold]

    The result opens with mirrormask.load. It helps on text like that in the corpus.
    """
    parameters: dict[str, object] = {
        "levels": levels,
        "depth": depth,
        "width": width,
        "permutation": permutation,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "seed": seed,
    }
    fit(
        "flow",
        parameters,
        model,
        corpus,
        out,
        meant_for,
        column,
        pooling,
        limit,
        Output(as_json=as_json, quiet=quiet),
    )
