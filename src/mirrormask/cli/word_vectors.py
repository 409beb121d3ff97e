"""`mirrormask word-vectors`: averaged word vectors as an encoder, the baseline that everything is measured against."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def word_vectors(
    corpus: list[str] = typer.Argument(
        None, help="Text to count words in: files (also compressed), - for stdin, or a dataset name."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the encoder."),
    vectors: str = typer.Option(
        "", "--vectors", help="A file of word vectors: GloVe, word2vec (text or binary) or fastText .vec."
    ),
    weights: str = typer.Option("sif", "--weights", "-w", help="How words count: plain, sif or idf."),
    dimensions: int = typer.Option(384, "--dimensions", help="Of vectors made from the text."),
    limit: int = typer.Option(0, "--limit", help="Words of the file to read, from the first; 0 reads all."),
    column: list[str] = typer.Option([], "--column", "-c", help="Column to read.", show_default="the likely one"),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Average word vectors: from a file, or from how the words of a text occur together.

    [bold]mirrormask word-vectors my.txt --out my-words[/bold]

    [bold]mirrormask word-vectors my.txt --vectors glove.6B.300d.txt --out glove[/bold]

    The result is a model that plain SentenceTransformer opens. Set it beside others:
    [bold]mirrormask evaluate my-words mini-sentence[/bold]
    """
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.text.origin import find_origin
    from mirrormask.runs.average_words import average_words

    output = Output(as_json=as_json, quiet=quiet)
    spare_inputs([*(corpus or ()), vectors], replaced=[out])
    texts: Iterator[str] = iter(())
    origin = None
    if corpus:
        origin = find_origin(corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus], column or None)
        texts = (text for cells in origin.rows() if cells is not None for text in cells)
    made = average_words(texts, out=out, vectors=vectors, weights=weights, dimensions=dimensions, limit=limit)
    for sentence in (*(f"{note}." for note in (origin.notes if origin else ())), *made.said):
        output.say(sentence)

    def show() -> None:
        output.line(f"Encoder: {out} ({made.words:,} words, {made.dimensions:,} dimensions, weights {weights})")

    known = {"words": made.words, "dimensions": made.dimensions, "texts": made.texts}
    output.result({"out": str(out), "weights": weights, **known}, show)
