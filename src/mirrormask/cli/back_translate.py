"""`mirrormask back-translate`: pairs of sentences that say the same, by way of another language."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def back_translate(
    corpus: list[str] = typer.Argument(..., help="Sentences: files (also compressed), - for stdin, or a dataset name."),
    out: Path = typer.Option(..., "--out", "-o", help="File of pairs, as JSON lines."),
    there: list[str] = typer.Option(..., "--there", help="Model that translates to another language; one or two."),
    back: list[str] = typer.Option(..., "--back", help="Model that translates back, one for each --there."),
    column: list[str] = typer.Option([], "--column", "-c", help="Column to read.", show_default="the likely one"),
    limit: int = typer.Option(100_000, "--limit", help="Sentences to translate at most."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Translate sentences to another language and back, for methods that learn from such pairs.

    [bold]mirrormask back-translate my.txt --there Helsinki-NLP/opus-mt-en-de --back Helsinki-NLP/opus-mt-de-en \
--out pairs.jsonl[/bold]

    Then [bold]mirrormask train pairs.jsonl --method back-translation --out my-encoder[/bold]; with two of each, what
    comes back by one is paired with what comes back by the other, as [bold]--method cert[/bold] wants it. A command
    that was stopped goes on where it was.
    """
    from itertools import islice

    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.text.origin import find_origin
    from mirrormask.runs.back_translating import back_translate as translate

    if len(there) != len(back):
        raise MirrormaskError(f"Name a --back for each --there. Got {len(there)} and {len(back)}.")
    output = Output(as_json=as_json, quiet=quiet)
    spare_inputs(corpus, replaced=[out])
    origin = find_origin(corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus], column or None)
    every = (text for cells in origin.rows() if cells is not None for text in cells)
    texts = list(islice((text for text in every if text.strip()), limit))
    for note in origin.notes:
        output.say(f"{note}.")
    with output.steps() as step:
        made = translate(
            texts,
            list(zip(there, back, strict=True)),
            out,
            progress=lambda done, total: step("translated", done, total),
        )

    def show() -> None:
        output.line(f"{made.pairs:,} pairs in {out}; {made.unchanged:,} came back as they were, {made.empty:,} empty.")

    known = {"pairs": made.pairs, "before": made.before, "unchanged": made.unchanged, "empty": made.empty}
    output.result({"out": str(out), **known}, show)
