"""`mirrormask list`: every part there is, with its paper."""

from __future__ import annotations

import typer

from mirrormask.cli.output import Json, Output, Quiet


def list_parts(
    kind: str = typer.Argument("", help="Only one kind: method, view, objective, pooling, pairing …"),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """List the registered parts with their parameters and papers.

    [bold]mirrormask list method[/bold], then use one:
    [bold]mirrormask train my.txt --method simcse-unsup --out my-encoder[/bold]
    """
    from mirrormask.runs.catalogue import listing

    output = Output(as_json=as_json, quiet=quiet)
    found = listing(kind)

    def show() -> None:
        for name, parts in found.items():
            if not parts:
                output.line(f"{name}: none but the other rows of the batch")
                output.line("")
                continue
            output.table(
                name,
                ["name", "what it does", "parameters", "paper"],
                [[p.name, p.summary, ", ".join(p.shown_parameters), p.paper] for p in parts],
                left=4,
            )
            output.out.print()

    content = {
        name: [{"name": p.name, "summary": p.summary, "paper": p.paper, "parameters": p.parameters} for p in parts]
        for name, parts in found.items()
    }
    output.result(content, show)
