"""`mirrormask info`: what a model is, how it was made, and how to open it."""

from __future__ import annotations

import typer

from mirrormask.cli.output import Json, Output, Quiet


def info(
    model: str = typer.Argument("mini", help="Model name or folder."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Describe a model: shape, pooling, training, and how to open it."""
    from mirrormask.models.description import describe_model

    output = Output(as_json=as_json, quiet=quiet)
    content = describe_model(model)

    def show() -> None:
        rows = [[key.replace("_", " "), str(value)] for key, value in content.items() if not isinstance(value, dict)]
        output.table("", ["", ""], rows, left=2)

    output.result(content, show)
