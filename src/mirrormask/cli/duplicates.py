"""`mirrormask duplicates`: which texts say the same?"""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def duplicates(
    texts: list[str] = typer.Argument(
        ..., help="Files and folders: .txt .md .html .csv .tsv .jsonl .parquet, also compressed; - for stdin."
    ),
    out: Path = typer.Option(None, "--out", "-o", help="Write all groups: .csv or .jsonl, a text a row."),
    model: str = typer.Option("mini-sentence", "--model", "-m", help="The encoder that tells what is near in meaning."),
    column: str = typer.Option("", "--column", "-c", help="Column that holds the text.", show_default="the likely one"),
    by: str = typer.Option("both", "--by", help="words: compare words only, without an encoder; both: meaning too."),
    threshold: float = typer.Option(
        None, "--threshold", help="Cosine from which texts are near in meaning.", show_default="chosen from the texts"
    ),
    words: float = typer.Option(0.7, "--words", help="Share of runs of three words from which texts nearly agree."),
    max_length: int = typer.Option(128, "--max-length", help="Tokens that the encoder reads of a text."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Find texts that repeat others: the same, nearly the same words, or the same in other words.

    [bold]mirrormask duplicates my.txt --out groups.csv[/bold]

    How near is near is told from the texts themselves, and said. Nothing is deleted.
    """
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.exploring.duplicates import check_format, find_duplicates
    from mirrormask.exploring.texts import read_texts
    from mirrormask.search.documents import check_sources

    output = Output(as_json=as_json, quiet=quiet)
    check_sources(texts)
    if out is not None:
        check_format(out)
        check_writable(out.parent)
        spare_inputs([*texts, model], replaced=[out])
    read = read_texts(texts, column=column or None)
    for note in read.notes:
        output.say(f"{note}.")
    with output.steps() as progress:
        found = find_duplicates(
            read, model=model, by=by, threshold=threshold, words=words, max_length=max_length, progress=progress
        )
    if out is not None:
        found.save(out)

    def show() -> None:
        if found.groups:
            output.report(found.table())
        for sentence in found.summary():
            output.line(sentence)
        if out is not None:
            output.line(f"Groups: {out}")

    output.result({**found.to_dict(), "file": None if out is None else str(out)}, show)
