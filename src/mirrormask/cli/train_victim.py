"""`mirrormask train-victim`: a classifier of your labeled texts, to be attacked."""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def train_victim(
    data: str = typer.Argument(..., help="Labeled texts: .csv .tsv .jsonl .parquet, also compressed."),
    out: Path = typer.Option(..., "--out", "-o", help="Folder to write the classifier into."),
    kind: str = typer.Option("word-cnn", "--kind", "-k", help="word-lstm, word-cnn or bert."),
    model: str = typer.Option("mini", "--model", "-m", help="The masked LM that bert and word vectors start from."),
    apart_from: list[str] = typer.Option(
        [], "--apart-from", help="Files of texts that will be attacked: copies of them are not trained on."
    ),
    text_column: str = typer.Option("", "--text-column", help="Column of the text.", show_default="text, sentence …"),
    label_column: str = typer.Option("", "--label-column", help="Column of the label.", show_default="label, class …"),
    epochs: float = typer.Option(0.0, "--epochs", help="Passes over the texts.", show_default="of the kind"),
    learning_rate: float = typer.Option(0.0, "--learning-rate", help="The highest.", show_default="of the kind"),
    batch_size: int = typer.Option(32, "--batch-size", help="Texts of an update."),
    seed: int = typer.Option(42, "--seed", help="Of everything."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train a classifier that `mirrormask attack` can attack: a word LSTM, a word CNN, or a masked LM with a head.

    [bold]mirrormask train-victim reviews.csv --kind bert --apart-from test.csv --out victim[/bold]
    """
    from mirrormask.attack.labeled_texts import read_labeled
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable

    output = Output(as_json=as_json, quiet=quiet)
    check_writable(out.parent)
    spare_inputs([data, model, *apart_from], replaced=[out])
    texts = read_labeled(data, text=text_column, label=label_column)
    others = [each for file in apart_from for each in read_labeled(file, text=text_column, label=label_column).texts]

    from mirrormask.attack.victim_training import train_victim as train
    from mirrormask.cli.progress import reporter_for

    found = train(
        texts,
        out,
        kind=kind,
        model=model,
        apart_from=others,
        epochs=epochs,
        learning_rate=learning_rate,
        batch_size=batch_size,
        seed=seed,
        reporter=reporter_for(output),
    )

    def show() -> None:
        output.line(f"Trained on {found.texts:,} texts; {found.accuracy:.1f} % of those set aside are told rightly.")
        if found.left_out:
            output.line(f"Left out because they will be attacked: {found.left_out:,}.")
        output.line(f"Attack it: mirrormask attack {out} TEXTS")

    facts = {"out": str(out), "kind": kind, "accuracy": found.accuracy, "texts": found.texts}
    output.result({**facts, "left_out": found.left_out}, show)
