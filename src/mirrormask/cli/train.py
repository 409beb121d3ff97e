"""`mirrormask train`: from a text file to a sentence encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.models.names import DEFAULT_START

TEXT, HOW, RUN = "The text", "How to learn", "The run"


def train(
    corpus: list[str] = typer.Argument(
        ...,
        help="Text: files (.txt .csv .tsv .jsonl .parquet, also .gz .bz2 .xz .zst), - for stdin, or a dataset name.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the run; the encoder will be in OUT/model."),
    model: str = typer.Option(
        "",
        "--model",
        "-m",
        help="Where to start: a sentence encoder, a masked LM or a plain encoder.",
        show_default=DEFAULT_START,
    ),
    column: list[str] = typer.Option(
        [],
        "--column",
        help="Column to read; repeat it for pairs, triplets, or a text and its label.",
        rich_help_panel=TEXT,
    ),
    split: str = typer.Option(
        "none", "--split", help="Split texts into sentences: none, auto, en, zh.", rich_help_panel=TEXT
    ),
    min_words: int = typer.Option(1, "--min-words", help="Leave out shorter texts.", rich_help_panel=TEXT),
    max_words: int = typer.Option(
        0, "--max-words", help="Leave out longer texts (0 keeps them).", rich_help_panel=TEXT
    ),
    keep_duplicates: bool = typer.Option(
        False,
        "--keep-duplicates",
        help="Keep equal texts, which are false negatives to each other.",
        rich_help_panel=TEXT,
    ),
    limit: int = typer.Option(0, "--limit", help="Read only so many rows (0 reads all).", rich_help_panel=TEXT),
    dev: str = typer.Option(
        "",
        "--dev",
        help="Choose what is kept by labels: an STS task (stsb-dev), a file with sentence1, sentence2, score or with "
        "query, document, or a folder with judged queries. Without it that is chosen without labels.",
        rich_help_panel=TEXT,
    ),
    method: str = typer.Option(
        "",
        "--method",
        help="Method by name; see `mirrormask list method`. Unless named, pairs, triplets and labels are learned from "
        "where the columns hold them; else a sentence encoder is adapted, and another model taught to be one.",
        rich_help_panel=HOW,
    ),
    pairing: str = typer.Option(
        "", "--pairing", help="Where positives come from, if not as the method says.", rich_help_panel=HOW
    ),
    pooling: str = typer.Option("", "--pooling", help="How token states become one vector.", rich_help_panel=HOW),
    template: str = typer.Option("", "--template", help="Prompt of the mask-prompt pooling.", rich_help_panel=HOW),
    lora: int = typer.Option(
        0, "--lora", help="Train adapters of this rank instead of all weights.", rich_help_panel=HOW
    ),
    set_: list[str] = typer.Option(
        [], "--set", help="Any other parameter, as table.key=value: method.temperature=0.1", rich_help_panel=HOW
    ),
    steps: int | None = typer.Option(
        None, "--steps", help="Updates.", show_default="as the method says", rich_help_panel=RUN
    ),
    epochs: float | None = typer.Option(
        None,
        "--epochs",
        help="Passes over the text, instead of --steps.",
        show_default="as the method says",
        rich_help_panel=RUN,
    ),
    batch_size: int | None = typer.Option(
        None, "--batch-size", help="Rows of a batch.", show_default="as the method says", rich_help_panel=RUN
    ),
    learning_rate: float | None = typer.Option(
        None, "--learning-rate", help="Highest rate.", show_default="as the method says", rich_help_panel=RUN
    ),
    max_length: int | None = typer.Option(
        None, "--max-length", help="Tokens of a text.", show_default="as the method says", rich_help_panel=RUN
    ),
    large_batch: int = typer.Option(
        0, "--large-batch", help="Hold the activations of only so many rows (gradient caching).", rich_help_panel=RUN
    ),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16.", rich_help_panel=RUN),
    seed: int = typer.Option(42, "--seed", help="Same seed, same encoder.", rich_help_panel=RUN),
    patience: int = typer.Option(
        0, "--patience", help="Stop after so many evaluations without a gain.", rich_help_panel=RUN
    ),
    tracker: list[str] = typer.Option([], "--tracker", help="Also log to tensorboard, wandb, …", rich_help_panel=RUN),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT.", rich_help_panel=RUN),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train a sentence encoder on your own text, without labels; or on pairs, triplets or labeled texts.

    [bold]mirrormask train reviews.txt --out reviews-encoder[/bold]

    Then try it: [bold]mirrormask similarity "a text" "another text" --model reviews-encoder[/bold]

    Prove that it is better, on pairs with scores, queries or labels of your own:
    [bold]mirrormask evaluate mini-sentence reviews-encoder --data my-pairs.csv[/bold]

    Use it anywhere: [bold]SentenceTransformer("reviews-encoder/model")[/bold] in Python.
    """
    from mirrormask.data.text.origin import check_names

    check_names(corpus)
    from mirrormask.cli.running import perform
    from mirrormask.runs.adapting import method_for
    from mirrormask.runs.folder import begun_with
    from mirrormask.runs.given_rows import given_for
    from mirrormask.runs.recipe import apply_overrides, build_recipe

    training: dict[str, Any] = {
        "steps": steps,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "max_length": max_length,
        "large_batch": large_batch or None,
        "patience": patience or None,
        "trackers": tracker,
    }
    training = {key: value for key, value in training.items() if value not in (None, [])}
    start = model or (begun_with(out, "model") if resume else "") or DEFAULT_START
    method = method or (begun_with(out, "method") if resume else "")
    asked = {**training, "precision": precision, "seed": seed}
    build_recipe({"training": asked}, of="The command")  # or refuse before the text is read
    rows = given_for(
        corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus], column, method=method, pairing=pairing
    )
    output = Output(as_json=as_json, quiet=quiet)
    if rows.said:
        output.say(rows.said)
    tables: dict[str, Any] = {
        "model": {"name": start, "pooling": pooling, "template": template, "lora": lora},
        "data": {
            "corpus": corpus,
            "columns": list(rows.columns),
            "split": split,
            "deduplicate": not keep_duplicates,
            "min_words": min_words,
            "max_words": max_words,
            "limit": limit,
            "dev": dev,
        },
        "method": {"name": method_for(start, method=rows.method, pairing=pairing, pooling=pooling)},
        "pairing": {"name": pairing} if pairing else dict(rows.pairing),
        "training": asked,
    }
    perform(
        build_recipe(apply_overrides(tables, set_), of="The command"),
        out,
        resume=resume,
        output=output,
    )
