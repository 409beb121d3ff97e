"""`mirrormask publish`: an encoder with its card, on the hub."""

from __future__ import annotations

from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet


def publish(
    folder: str = typer.Argument(..., help="The folder of an encoder: of a run, of the model in it, or of an export."),
    name: str = typer.Argument(..., help="Its name on the hub, such as me/my-encoder."),
    public: bool = typer.Option(False, "--public", help="Everyone may see it; else only you and who you let."),
    dry_run: bool = typer.Option(False, "--dry-run", help="Say which files would go there, and send nothing."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Put an encoder with its card on the Hugging Face hub, private unless --public is given.

    [bold]mirrormask publish my-encoder me/my-encoder --dry-run[/bold]

    Only the files that make up the model are sent: no checkpoints, no logs, no text. Log in first: hf auth login.
    """
    from mirrormask.exporting.publishing import publish as send

    output = Output(as_json=as_json, quiet=quiet)
    done = send(folder, name, private=not public, dry_run=dry_run, bars=output.err.is_terminal and not quiet)
    output.result(done, lambda: _show(output, done))


def _show(output: Output, done: dict[str, Any]) -> None:
    rows = [[name, f"{size / 1e6:,.2f} MB"] for name, size in done["files"].items()]
    output.table("", ["file", "size"], rows)
    if done["left_out"]:
        output.line(f"Stays here: {', '.join(done['left_out'])}.")
    kind = "private" if done["private"] else "public"
    if done["dry_run"]:
        output.line(f"These files would go to {done['name']}, {kind}. Nothing was sent.")
    else:
        output.line(f"On the hub, {kind}: {done['url']}")
