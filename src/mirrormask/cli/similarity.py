"""`mirrormask similarity`: how alike are two or more texts?"""

from __future__ import annotations

import typer

from mirrormask.cli.output import Json, Output, Quiet


def similarity(
    texts: list[str] = typer.Argument(..., help="Two or more texts, each in quotes."),
    model: str = typer.Option("mini-sentence", "--model", "-m", help="Model name or folder."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Print the cosine similarity of texts.

    [bold]mirrormask similarity "a cat sat" "a dog lay down" --model my-encoder[/bold]
    """
    from mirrormask.core.errors import MirrormaskError

    if len(texts) < 2:
        raise MirrormaskError("A similarity needs at least 2 texts. Put each in quotes.")
    if any(not text.strip() for text in texts):
        raise MirrormaskError("One of the texts is empty. Put each text in quotes.")
    from mirrormask.core.similarity import unit_rows
    from mirrormask.models.few_texts import encode_few

    output = Output(as_json=as_json, quiet=quiet)
    vectors = unit_rows(encode_few(model, texts))
    scores = vectors @ vectors.T

    def show() -> None:
        if len(texts) == 2:
            output.out.print(f"{scores[0, 1]:.4f}")
            return
        header = ["", *[str(i + 1) for i in range(len(texts))]]
        rows = [[f"{i + 1}  {text}", *[f"{s:.4f}" for s in scores[i]]] for i, text in enumerate(texts)]
        output.table("", header, rows)

    output.result({"model": model, "texts": texts, "cosine": scores.round(6).tolist()}, show)
