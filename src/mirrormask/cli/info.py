"""`mirrormask info`: what a model is, how it was made, and how to open it."""

from __future__ import annotations

import shlex
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet


def info(
    model: str = typer.Argument("mini", help="Model name or folder."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Describe a model: shape, modules, pooling, how it was made, and how to open it.

    [bold]mirrormask info my-encoder[/bold]
    """
    from mirrormask.models.description import describe_model

    output = Output(as_json=as_json, quiet=quiet)
    content = describe_model(model)

    def show() -> None:
        rows = {key.replace("_", " "): value for key, value in content.items() if not isinstance(value, dict)}
        width = max(map(len, rows)) + 2
        for key, value in rows.items():
            output.line(f"{key:<{width}}{f'{value:,}' if isinstance(value, int) else value}")
        output.line(f"Next: {_next_command(content)}")

    output.result(content, show)


def _next_command(content: dict[str, Any]) -> str:
    name = shlex.quote(content["name"])
    if content["kind"] == "sentence encoder":
        return f'mirrormask similarity "a cat sat" "a dog lay down" --model {name}'
    return f"mirrormask train my.txt --model {name} --out my-encoder"
