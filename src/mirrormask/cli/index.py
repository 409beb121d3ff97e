"""`mirrormask index`: make texts searchable, add to them, take some out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.engine import Address, EngineName, Workers, engine_named
from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.cli.stages import Stages


def index(
    texts: list[str] = typer.Argument(
        None,
        help="Files and folders: .txt .md .html .csv .tsv .jsonl .parquet .pdf .docx, also compressed; - for stdin.",
        show_default=False,
    ),
    out: Path = typer.Option(None, "--out", "-o", help="The folder of the index; one that is there is added to."),
    to: str = typer.Option(
        None, "--to", help="In place of a folder, a database: postgresql://user@host/name, perhaps with ?table=notes."
    ),
    model: str = typer.Option(
        None, "--model", "-m", help="Encoder by name or folder.", show_default="mini-sentence, or what the index has"
    ),
    column: str = typer.Option("", "--column", help="The column that holds the text, where a file has several."),
    id_column: str = typer.Option("", "--id-column", help="The column that holds the id.", show_default="id, else row"),
    each: str = typer.Option(
        "auto",
        "--each",
        help="What a document is in a .txt file: line, file, or auto: a line where the file is named here, "
        "the file where it lies in a folder.",
    ),
    delete: list[str] = typer.Option([], "--delete", help="Take out the document with this id; may be repeated."),
    anew: bool = typer.Option(False, "--anew", help="Leave nothing of an index that is there."),
    vectors: str = typer.Option(
        None, "--vectors", help="How vectors are kept: fp16, fp32, int8 or binary.", show_default="fp16"
    ),
    dimensions: int = typer.Option(
        None, "--dimensions", help="Numbers kept of each vector, the most telling ones.", show_default="all"
    ),
    passage_words: int = typer.Option(
        None, "--passage-words", help="Words of a passage at most.", show_default="what the encoder reads"
    ),
    query_prompt: str = typer.Option(
        None, "--query-prompt", help="Put before every query.", show_default="what the encoder wants"
    ),
    document_prompt: str = typer.Option(
        None, "--document-prompt", help="Put before every passage.", show_default="what the encoder wants"
    ),
    tokens: str = typer.Option(
        None,
        "--tokens",
        help="How much tokens count in a vector: idf, rare ones more, or equal.",
        show_default="idf where the encoder averages them",
    ),
    engine: str = EngineName,
    address: str = Address,
    workers: int = Workers,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Make an index of texts that [bold]mirrormask search[/bold] finds passages in, by words and by meaning.

    [bold]mirrormask index my-notes --out my-index[/bold]

    The same command again adds what is new, replaces what has changed (by id) and passes over the rest. A kill or a
    full disk leaves the index as it was. Take documents out with --delete ID.

    Into PostgreSQL with pgvector: [bold]mirrormask index my-notes --to postgresql://me@localhost/notes[/bold]

    Other columns of a table stay as metadata: [bold]mirrormask search my-index "refund" --where 'year >= 2020'[/bold]
    """
    from mirrormask.core.errors import MirrormaskError, at_least

    if (out is None) == (to is None):
        raise MirrormaskError("Say where the index goes: --out FOLDER, or --to postgresql://user@host/name.")
    if out is not None and str(out).startswith(("postgresql:/", "postgres:/")):
        raise MirrormaskError("--out takes a folder. Give a database with --to.")
    if not texts and not delete:
        raise MirrormaskError("Name files or folders to index, or give --delete with an id.")
    if texts and delete:
        raise MirrormaskError("Add texts and --delete documents with two commands, one after the other.")
    if dimensions is not None:
        at_least("dimensions", dimensions, 1, of="an index")
    chosen = engine_named(engine, address=address, workers=workers)
    from mirrormask.search.documents import Reading, check_sources

    check_sources(texts or [])  # before anything slow is imported
    reading = Reading(column or None, id_column or None, each)
    place, build, take_out = _writers(out, to)
    from mirrormask.search.passages import Cutting
    from mirrormask.search.storing import Storing

    storing = None if vectors is None and dimensions is None else Storing(vectors or "fp16", dimensions)
    if passage_words is not None:
        Cutting(passage_words)
    output = Output(as_json=as_json, quiet=quiet)
    with Stages(output) as stages:
        if delete:
            done = take_out(place, delete, stages.progress)
        else:
            done = build(
                [Path(each) for each in texts],
                place,
                reading,
                model=model,
                storing=storing,
                passage_words=passage_words,
                query_prompt=query_prompt,
                document_prompt=document_prompt,
                tokens=tokens,
                anew=anew,
                progress=stages.progress,
                engine=chosen,
            )
    for note in done.pop("notes", []):
        output.say(f"{note}.")
    done.pop("files", None)
    output.result({**done, "index": str(place)}, lambda: _show(output, done, str(place)))


def _writers(out: Path | None, to: str | None) -> tuple[Any, Any, Any]:
    """Return the place of an index, and what builds and deletes there."""
    if to is None:
        from mirrormask.search.indexing import build_index, delete_documents

        return out, build_index, delete_documents
    from mirrormask.search.postgres.address import read_address
    from mirrormask.search.postgres.connecting import connect

    address = read_address(to)
    connect(address).close()  # or say what is wrong with it, before anything slow is imported
    from mirrormask.search.postgres.writing import build_tables, delete_rows

    return address, build_tables, delete_rows


def _show(output: Output, done: dict[str, Any], place: str) -> None:
    import shlex

    from mirrormask.core.wording import counted

    counts = done["counts"]
    told = [f"{done[what]:,} {what}" for what in ("added", "replaced", "unchanged", "deleted") if done.get(what)]
    output.line(
        f"{counted(counts['documents'], 'document')} in {counted(counts['passages'], 'passage')} in {place}"
        + (f" ({', '.join(told)})." if told else ".")
    )
    if done.get("backend"):
        output.line(f"Vectors computed by {done['backend']}.")
    kept = done["vectors"]
    if kept["loss"] >= 0.0005:
        output.line(
            f"Vectors kept as {kept['kind']}, {kept['width']} numbers each: of the ten nearest passages "
            f"{kept['loss']:.1%} are other ones than by whole vectors."
        )
    where = f" --where '{done['columns'][0]} = …'" if done["columns"] else ""
    output.line(f'Next: mirrormask search {shlex.quote(place)} "what you look for"{where}')
