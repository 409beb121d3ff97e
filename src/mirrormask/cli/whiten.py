"""`mirrormask whiten`: repair the space of a model's vectors by a linear map."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet

MODEL = typer.Argument(..., help="Model name or folder.")
CORPUS = typer.Argument(
    ..., help="Text like what will be encoded: files (also compressed), - for stdin, or a dataset name."
)
OUT = typer.Option(..., "--out", "-o", help="Folder of the new model.")
FOR = typer.Option("", "--for", help="A file with texts that will be encoded: say whether the others are like them.")
COLUMN = typer.Option([], "--column", "-c", help="Column to read; several may be named.", show_default="the likely one")
LIMIT = typer.Option(100_000, "--limit", help="Different texts to read at most.")
POOLING = typer.Option("", "--pooling", help="Pooling by name.", show_default="the model's own, or mean")


def whiten(
    model: str = MODEL,
    corpus: list[str] = CORPUS,
    out: Path = OUT,
    kind: str = typer.Option(
        "whitening", "--kind", "-k", help="whitening, centering, standardization or component-removal."
    ),
    dimension: int = typer.Option(
        0, "--dimension", "-d", help="With whitening: components to keep; 0 keeps all that vary."
    ),
    components: int = typer.Option(
        0, "--components", help="With component-removal: how many; 0 takes a hundredth of the dimensions."
    ),
    meant_for: str = FOR,
    column: list[str] = COLUMN,
    pooling: str = POOLING,
    limit: int = LIMIT,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Whiten the vectors of a model, or center or standardize them, or remove what all of them share.

    [bold]mirrormask whiten mini my.txt --out my-encoder[/bold]

    The result is a model that plain SentenceTransformer opens. It helps on text like that in the corpus.
    """
    from mirrormask.core.errors import MirrormaskError, one_of

    one_of("kind", kind, LINEAR, of="whiten")
    given = {"dimension": dimension, "components": components}
    for name, value in given.items():
        if value and LINEAR[kind] != name:
            raise MirrormaskError(f"--{name} is not for {kind}. Leave it out, or name another --kind.")
    parameters = {name: value for name, value in given.items() if value}
    fit(
        kind,
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


LINEAR = {"whitening": "dimension", "centering": "", "standardization": "", "component-removal": "components"}
"""The linear transforms, each with the option that is its own."""


def fit(
    kind: str,
    parameters: Mapping[str, object],
    model: str,
    corpus: list[str],
    out: Path,
    meant_for: str,
    column: list[str],
    pooling: str,
    limit: int,
    output: Output,
) -> None:
    """Fit a transform on the text that was named, save the model with it, and say what it did."""
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from mirrormask.core.errors import at_least
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.text.origin import check_names, find_origin

    at_least("limit", limit, 2, of=kind)
    for names in (corpus, [meant_for] if meant_for else []):
        if names:
            check_names(names)
    spare_inputs([*corpus, meant_for, model], replaced=[out])
    from mirrormask.isotropy import transforms
    from mirrormask.isotropy.fitting_on_text import transform_model

    transform = transforms.build(kind, **parameters)
    source = corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus]
    origins = [find_origin(source, column or None), *([find_origin(meant_for)] if meant_for else [])]
    texts = [(text for cells in origin.rows() if cells is not None for text in cells) for origin in origins]
    columns = (SpinnerColumn(), TextColumn("encoding {task.completed:,} texts"), BarColumn(), TimeElapsedColumn())
    with Progress(
        *columns, console=output.err, disable=output.quiet or not output.err.is_terminal, transient=True
    ) as bar:
        task = bar.add_task("encoding", total=None)
        found = transform_model(
            model,
            texts[0],
            out,
            transform,
            pooling=pooling or None,
            meant_for=texts[1] if meant_for else None,
            limit=limit,
            progress=lambda count: bar.advance(task, count),
        )
    for origin in origins:
        for note in origin.notes:
            output.say(f"{note}.")

    def show() -> None:
        output.line(f"Encoder: {out} ({transform.name} on {found.texts:,} texts, {found.dimension:,} dimensions)")
        output.line(f"Mean cosine of two different texts: {found.before:.3f} before, {found.after:.3f} after.")
        if found.there is not None:
            output.line(f"Of the texts in {meant_for}: {found.there:.3f}.")

    output.result(
        {
            "out": str(out),
            "kind": kind,
            "texts": found.texts,
            "dimension": found.dimension,
            "mean_cosine": {"before": found.before, "after": found.after, "there": found.there},
        },
        show,
    )
