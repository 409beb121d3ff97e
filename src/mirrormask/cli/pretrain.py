"""`mirrormask pretrain`: from text alone to a masked language model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

SHAPE, MASKS, RUN, TEXT = "The model", "What is learned", "The run", "The text"


def pretrain(
    corpus: list[str] = typer.Argument(
        ...,
        help="Text: files (.txt .csv .tsv .jsonl .parquet, also .gz .bz2 .xz .zst), - for stdin, or a dataset name.",
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the run; the model will be in OUT/model."),
    init: str = typer.Option("", "--init", help="Continue this masked LM instead of starting from nothing."),
    grow: int = typer.Option(
        0, "--grow", help="With --init: give the model so many layers, new ones among the old.", rich_help_panel=SHAPE
    ),
    learned: int = typer.Option(
        0,
        "--learned",
        help="With --init: the model learned from rows of so many tokens; later positions begin as copies.",
        rich_help_panel=SHAPE,
    ),
    freeze_embeddings: bool = typer.Option(
        False,
        "--freeze-embeddings",
        help="With --init: leave its embeddings as they are, so that several models can share them.",
        rich_help_panel=SHAPE,
    ),
    tokenizer: str = typer.Option(
        "", "--tokenizer", help="Take the tokenizer of this model instead of a new one.", rich_help_panel=SHAPE
    ),
    vocabulary: int = typer.Option(16_384, "--vocabulary", help="Pieces of the tokenizer.", rich_help_panel=SHAPE),
    cased: bool = typer.Option(False, "--cased", help="Keep capitals and accents.", rich_help_panel=SHAPE),
    layers: int = typer.Option(6, "--layers", help="Layers of the encoder.", rich_help_panel=SHAPE),
    width: int = typer.Option(384, "--width", help="Width of its states.", rich_help_panel=SHAPE),
    heads: int = typer.Option(6, "--heads", help="Attention heads.", rich_help_panel=SHAPE),
    positions: int = typer.Option(512, "--positions", help="Most tokens the model can read.", rich_help_panel=SHAPE),
    half: bool = typer.Option(False, "--half", help="Store the weights in float16.", rich_help_panel=SHAPE),
    length: int = typer.Option(128, "--length", help="Tokens of a training row.", rich_help_panel=MASKS),
    later: float = typer.Option(
        0.0,
        "--later",
        help="Share of the rows that stand at a random later place, so that every position is learned.",
        rich_help_panel=MASKS,
    ),
    singles: float = typer.Option(
        0.0,
        "--singles",
        help="Share of the rows that are cut into single sentences, so that short texts are learned too.",
        rich_help_panel=MASKS,
    ),
    mask_rate: float = typer.Option(0.2, "--mask-rate", help="Share of the tokens to hide.", rich_help_panel=MASKS),
    whole_words: bool = typer.Option(
        False, "--whole-words", help="Hide whole words, not pieces.", rich_help_panel=MASKS
    ),
    dropout: float = typer.Option(0.1, "--dropout", help="Dropout while pretraining.", rich_help_panel=MASKS),
    bag: float = typer.Option(
        0.0, "--bag", help="Weight of rebuilding hidden words from a row's mean vector.", rich_help_panel=MASKS
    ),
    neighbors: float = typer.Option(
        0.0, "--neighbors", help="Weight of finding the row that follows in the text.", rich_help_panel=MASKS
    ),
    center: str = typer.Option(
        "",
        "--center",
        help="Text whose mean sentence vector becomes the origin of the states; no prediction changes.",
        rich_help_panel=MASKS,
    ),
    column: list[str] = typer.Option([], "--column", help="Column to read.", rich_help_panel=TEXT),
    min_words: int = typer.Option(1, "--min-words", help="Leave out shorter texts.", rich_help_panel=TEXT),
    keep_duplicates: bool = typer.Option(False, "--keep-duplicates", help="Keep equal texts.", rich_help_panel=TEXT),
    limit: int = typer.Option(0, "--limit", help="Read only so many rows (0 reads all).", rich_help_panel=TEXT),
    held_out: int = typer.Option(
        200, "--held-out", help="One text in so many is held out to measure on.", rich_help_panel=TEXT
    ),
    minutes: float = typer.Option(
        0.0, "--minutes", help="Train for about so long (0: one pass over the text).", rich_help_panel=RUN
    ),
    steps: int = typer.Option(0, "--steps", help="Updates, instead of --minutes.", rich_help_panel=RUN),
    epochs: float = typer.Option(0.0, "--epochs", help="Passes over the text, instead of both.", rich_help_panel=RUN),
    batch_size: int = typer.Option(256, "--batch-size", help="Rows of a batch.", rich_help_panel=RUN),
    learning_rate: float | None = typer.Option(
        None,
        "--learning-rate",
        help="Highest rate.",
        show_default="0.001, or 0.0001 with --init",
        rich_help_panel=RUN,
    ),
    warmup: float = typer.Option(
        0.05, "--warmup", help="Share of the updates over which the rate rises.", rich_help_panel=RUN
    ),
    optimizer: str = typer.Option(
        "adamw", "--optimizer", help="adamw, or muon, which learns more from long runs.", rich_help_panel=RUN
    ),
    accumulation: int = typer.Option(1, "--accumulation", help="Batches per update.", rich_help_panel=RUN),
    average: float = typer.Option(
        0.0, "--average", help="Decay of an average of the weights to keep (0 keeps the last).", rich_help_panel=RUN
    ),
    evaluate_every: int = typer.Option(
        0, "--evaluate-every", help="Updates between measurements (0: a tenth of the run).", rich_help_panel=RUN
    ),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16.", rich_help_panel=RUN),
    compile_: str = typer.Option("auto", "--compile", help="auto, on or off.", rich_help_panel=RUN),
    seed: int = typer.Option(42, "--seed", help="Same seed, same model.", rich_help_panel=RUN),
    tracker: list[str] = typer.Option([], "--tracker", help="Also log to tensorboard, wandb, …", rich_help_panel=RUN),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT.", rich_help_panel=RUN),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train a masked language model on your own text, with a tokenizer of its own.

    From nothing, on a GPU: [bold]mirrormask pretrain wiki.txt --out wiki --minutes 10 --batch-size 1024[/bold]

    Your domain, on a laptop:
    [bold]mirrormask pretrain notes.txt --init mini --out notes --minutes 30 --batch-size 32[/bold]

    Then turn it into a sentence encoder: [bold]mirrormask train notes.txt --model notes --out notes-encoder[/bold]
    """
    from mirrormask.data.text.origin import check_names

    check_names(corpus)
    from mirrormask.cli.progress import reporter_for
    from mirrormask.cli.running import resume_command
    from mirrormask.pretraining.plan import Plan
    from mirrormask.runs.pretrain import pretrain as start
    from mirrormask.training.gather import world
    from mirrormask.training.loop import Interrupted

    output = Output(as_json=as_json, quiet=quiet)
    training: dict[str, Any] = {
        "batch_size": batch_size,
        "warmup": warmup,
        "optimizer": optimizer,
        "accumulation": accumulation,
        "average": average,
        "evaluate_every": evaluate_every,
        "precision": precision,
        "compile": compile_,
        "trackers": tuple(tracker),
        "steps": steps,
        **({"epochs": epochs} if epochs else {}),
        **({"learning_rate": learning_rate} if learning_rate is not None else {}),
    }
    try:
        done = start(
            corpus[0] if len(corpus) == 1 else [Path(name) for name in corpus],
            out=out,
            plan=Plan(
                init=init,
                grow=grow,
                learned=learned,
                freeze_embeddings=freeze_embeddings,
                tokenizer=tokenizer,
                vocabulary=vocabulary,
                cased=cased,
                layers=layers,
                width=width,
                heads=heads,
                positions=positions,
                length=length,
                later=later,
                singles=singles,
                mask_rate=mask_rate,
                whole_words=whole_words,
                dropout=dropout,
                bag=bag,
                neighbors=neighbors,
                center=center,
                held_out=held_out,
            ),
            data={
                "columns": column or None,
                "min_words": min_words,
                "deduplicate": not keep_duplicates,
                "limit": limit or None,
            },
            training=training,
            minutes=minutes,
            seed=seed,
            half=half,
            resume=resume,
            reporter=reporter_for(output),
        )
    except Interrupted as stop:
        raise Interrupted(f"{stop} Go on with: {resume_command()}") from None
    record = done.record

    def show() -> None:
        result = record["result"]
        kept = next(row for row in result["history"] if row["step"] == result["best_step"])
        speed = record["speed"]
        output.line(f"Model: {done.model}")
        output.line(
            f"Held-out loss {kept['loss']:.3f}, accuracy {kept['accuracy']:.1%} at 15 % hidden tokens "
            f"(checkpoint of step {result['best_step']} of {result['steps']}); "
            f"{record['tokens_seen']:,} tokens seen, {speed['tokens_per_second']:,.0f} tokens/s, "
            f"{speed['utilization']:.0%} of this device's rate for matrix products."
        )
        if result["best_step"] == 0:
            output.line("Training made it worse, so the model is as it was before. Try a lower --learning-rate.")
        output.line(f"Train an encoder from it: mirrormask train TEXT --model {out} --out ENCODER")

    if world()[0] == 0:
        output.result({"out": str(out), "model": str(done.model), **record}, show)
