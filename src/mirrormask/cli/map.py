"""`mirrormask map`: a picture of all texts, on one page."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def draw(
    texts: list[str] = typer.Argument(
        ..., help="Files and folders: .txt .md .html .csv .tsv .jsonl .parquet, also compressed; - for stdin."
    ),
    out: Path = typer.Option(Path("map.html"), "--out", "-o", help="Where the page goes."),
    model: str = typer.Option("mini-sentence", "--model", "-m", help="The encoder that tells what is alike."),
    column: str = typer.Option("", "--column", "-c", help="Column that holds the text.", show_default="the likely one"),
    groups: int = typer.Option(None, "--groups", help="How many groups to name.", show_default="more for more texts"),
    most: int = typer.Option(50_000, "--most", help="Texts to show; of more, a sample."),
    title: str = typer.Option("", "--title", help="Of the page.", show_default="the file's name"),
    max_length: int = typer.Option(128, "--max-length", help="Tokens that the encoder reads of a text."),
    seed: int = typer.Option(42, "--seed", help="Of sample and groups."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Draw a map of texts: what is alike lies together, groups are named by their telling words.

    [bold]mirrormask map my.txt --out map.html[/bold]

    The page is one file that opens in any browser without a server and asks nothing of the network: point at a text to
    read it, search, zoom, choose a group.
    """
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.exploring.text_map import FEWEST, draw_map
    from mirrormask.exploring.texts import read_texts
    from mirrormask.search.documents import check_sources

    output = Output(as_json=as_json, quiet=quiet)
    check_sources(texts)
    check_writable(out.parent)
    spare_inputs([*texts, model], replaced=[out])
    read = read_texts(texts, column=column or None, least=FEWEST)
    for note in read.notes:
        output.say(f"{note}.")
    with output.steps() as progress:
        found = draw_map(
            read, model=model, groups=groups, most=most, max_length=max_length, seed=seed, progress=progress
        )
    found.save(out, title)

    def show() -> None:
        record = found.to_dict()["groups"]
        output.table("Groups", ("telling words", "texts"), [(each["name"], f"{each['texts']:,}") for each in record])
        output.line(f"Map: {out}")

    output.result({**found.to_dict(), "file": str(out)}, show)
