"""`mirrormask export`: an encoder for places without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.cli.stages import Stages


def export(
    model: str = typer.Argument(..., help="Sentence encoder by name or folder."),
    to: str = typer.Option(..., "--to", help="onnx, onnx-int8, openvino, or static: one vector per token."),
    out: Path = typer.Option(..., "--out", "-o", help="A new folder for the export."),
    corpus: str = typer.Option("", "--corpus", help="Texts like those it will read, which static learns from."),
    column: str = typer.Option("", "--column", help="The column to read, where the corpus has several."),
    normalize: bool = typer.Option(
        None,
        "--normalize/--no-normalize",
        help="Scale vectors to length 1 inside.",
        show_default="yes, unless the model compares by dot product",
    ),
    max_loss: float = typer.Option(
        None, "--max-loss", help="Points of STS-B dev that may be lost.", show_default="by the kind of export"
    ),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Export an encoder to a folder that runs without torch: pooling inside, a loader of ten lines beside it.

    [bold]mirrormask export my-encoder --to onnx-int8 --out my-encoder-int8[/bold]

    It is compared with the original before it is kept. Give the folder as a model to encode, index, search, evaluate
    and serve with it. Static vectors are many times faster than any transformer and lose some points; give them
    --corpus with texts like yours.
    """
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.text.origin import check_names, find_origin

    if corpus:
        check_names([corpus])  # before anything slow is imported
        spare_inputs([corpus], replaced=[out])
    from mirrormask.exporting.export_model import export_model

    output = Output(as_json=as_json, quiet=quiet)
    origin = find_origin(corpus, [column] if column else None) if corpus else None
    texts = None if origin is None else (text for cells in origin.rows() if cells is not None for text in cells)
    with Stages(output) as stages:
        done = export_model(
            model, out, to=to, normalize=normalize, corpus=texts, max_loss=max_loss, progress=stages.progress
        )
    for note in origin.notes if origin is not None else []:
        output.say(f"{note}.")
    output.result(done, lambda: _show(output, done))


def _show(output: Output, done: dict[str, Any]) -> None:
    check = done["check"]
    output.line(f"{done['folder']}: {done['to']}, {done['bytes'] / 1e6:.1f} MB, {done['dimension']} numbers a vector.")
    if check["lowest_cosine"] is not None:
        output.line(
            f"Cosine with the original {check['mean_cosine']:.5f} on average and {check['lowest_cosine']:.5f} at the "
            f"lowest over {check['texts']:,} texts."
        )
    else:
        output.line(f"Pairs of texts are ranked as by the original with a correlation of {check['agreement']:.3f}.")
    if check["sts"] is not None:
        output.line(f"STS-B dev {check['sts'][0]:.2f} → {check['sts'][1]:.2f}, a loss of {check['sts_loss']:.2f}.")
