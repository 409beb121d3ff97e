"""`mirrormask classify`: from texts with labels to a classifier, and what it says about other texts."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet
from mirrormask.models.names import DEFAULT_START

app = typer.Typer(
    name="classify",
    help="Learn classes from texts with labels, and tell those of other texts.\n\n"
    "[bold]mirrormask classify train reviews.csv --out my-classifier[/bold]\n\n"
    "[bold]mirrormask classify predict my-classifier new.csv --out labelled.csv[/bold]\n\n"
    "[bold]mirrormask classify evaluate my-classifier test.csv --figure confusion.png[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

DATA, HOW, RUN = "The data", "How to learn", "The run"
TextNamed = typer.Option(
    "", "--text-column", help="Column of the text.", show_default="text, sentence …", rich_help_panel=DATA
)
LabelNamed = typer.Option(
    "", "--label-column", help="Column of the label.", show_default="label, class …", rich_help_panel=DATA
)
Several = typer.Option(
    False, "--several", help="A text may have several labels: a,b in a cell, or a list in JSON.", rich_help_panel=DATA
)
Names = typer.Option(
    "", "--names", help="Names of the classes 0, 1, 2 …, with commas between them.", rich_help_panel=DATA
)


@app.command("train")
def train(
    data: str = typer.Argument(
        ..., help="Texts with labels: a file (.csv .tsv .jsonl .parquet, also compressed), or a dataset name."
    ),
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the run; encoder and head will be in OUT/model."),
    model: str = typer.Option(DEFAULT_START, "--model", "-m", help="Where to start."),
    text_column: str = TextNamed,
    label_column: str = LabelNamed,
    several: bool = Several,
    names: str = Names,
    classes: str = typer.Option(
        "all",
        "--classes",
        help="Which classes: all, a number for the most frequent, hard-4 for the four closest, or names with commas.",
        rich_help_panel=DATA,
    ),
    dev: str = typer.Option(
        "", "--dev", help="Labelled texts to choose and calibrate by, instead of a part of DATA.", rich_help_panel=DATA
    ),
    held_out: float = typer.Option(
        0.1, "--held-out", help="Share of every class to set aside for that.", rich_help_panel=DATA
    ),
    objective: str = typer.Option(
        "auto",
        "--objective",
        help="cross-entropy, sup-con, lcl, or contrast (then a linear head); auto takes contrast for few labels.",
        rich_help_panel=HOW,
    ),
    contrast: float | None = typer.Option(
        None, "--contrast", help="Share of the contrastive loss.", show_default="the paper's", rich_help_panel=HOW
    ),
    temperature: float = typer.Option(0.3, "--temperature", help="Of the contrastive loss.", rich_help_panel=HOW),
    detach: bool = typer.Option(
        False, "--detach", help="lcl: do not train the weighting network by contrast.", rich_help_panel=HOW
    ),
    head: str = typer.Option("linear", "--head", help="linear or mlp.", rich_help_panel=HOW),
    head_rate: float = typer.Option(
        1.0, "--head-rate", help="Learning rate of the head, in shares of the encoder's.", rich_help_panel=HOW
    ),
    augment: str = typer.Option(
        "",
        "--augment",
        help="Double every batch: synonyms, mlm-replacement, word-deletion, dropout …, or none.",
        show_default="dropout for contrast, else none",
        rich_help_panel=HOW,
    ),
    lexicon: str = typer.Option(
        "", "--lexicon", help="File of synonyms; without one the model's own words are compared.", rich_help_panel=HOW
    ),
    class_weights: str = typer.Option(
        "none", "--class-weights", help="none, or balanced: rare classes count as much.", rich_help_panel=HOW
    ),
    choose_by: str = typer.Option(
        "accuracy", "--choose-by", help="accuracy, macro-f1 or loss on the texts set aside.", rich_help_panel=HOW
    ),
    pooling: str = typer.Option("", "--pooling", help="How token states become one vector.", rich_help_panel=HOW),
    steps: int | None = typer.Option(None, "--steps", help="Updates.", show_default="by --epochs", rich_help_panel=RUN),
    epochs: float | None = typer.Option(
        None, "--epochs", help="Passes over the texts.", show_default="as the objective says", rich_help_panel=RUN
    ),
    batch_size: int | None = typer.Option(
        None, "--batch-size", help="Texts of a batch.", show_default="as the objective says", rich_help_panel=RUN
    ),
    learning_rate: float | None = typer.Option(
        None, "--learning-rate", help="Highest rate.", show_default="as the objective says", rich_help_panel=RUN
    ),
    max_length: int | None = typer.Option(
        None, "--max-length", help="Tokens of a text.", show_default="128", rich_help_panel=RUN
    ),
    large_batch: int = typer.Option(
        0, "--large-batch", help="Hold the activations of only so many rows (gradient caching).", rich_help_panel=RUN
    ),
    patience: int | None = typer.Option(
        None,
        "--patience",
        help="Stop after so many evaluations without a gain; 0 never does.",
        show_default="4",
        rich_help_panel=RUN,
    ),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16.", rich_help_panel=RUN),
    seed: int = typer.Option(42, "--seed", help="Same seed, same classifier.", rich_help_panel=RUN),
    tracker: list[str] = typer.Option([], "--tracker", help="Also log to tensorboard, wandb, …", rich_help_panel=RUN),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT.", rich_help_panel=RUN),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train a classifier on texts with labels; what it leaves is a sentence encoder too.

    [bold]mirrormask classify train reviews.csv --out my-classifier[/bold]

    Then [bold]mirrormask classify predict my-classifier new.csv[/bold]

    Use the encoder anywhere: [bold]SentenceTransformer("my-classifier/model")[/bold] in Python.
    """
    from mirrormask.cli.progress import measured, reporter_for
    from mirrormask.cli.running import resume_command
    from mirrormask.runs.classify import Classification, classify
    from mirrormask.training.gather import world
    from mirrormask.training.loop import Interrupted

    output = Output(as_json=as_json, quiet=quiet)
    training: dict[str, Any] = {
        "steps": steps,
        "epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "max_length": max_length,
        "large_batch": large_batch or None,
        "patience": patience,
        "trackers": tuple(tracker) or None,
        "precision": precision,
    }
    how = Classification(
        model=model,
        pooling=pooling,
        objective=objective,
        contrast=contrast,
        temperature=temperature,
        detach=detach,
        head=head,
        head_rate=head_rate,
        augment=augment,
        lexicon=lexicon,
        classes=classes,
        class_weights=class_weights,
        held_out=held_out,
        choose_by=choose_by,
    )
    try:
        done = classify(
            data,
            out=out,
            dev=dev or None,
            how=how,
            columns=_columns(text_column, label_column, several, names),
            training={key: value for key, value in training.items() if value is not None},
            seed=seed,
            resume=resume,
            reporter=reporter_for(output),
        )
    except Interrupted as stop:
        raise Interrupted(f"{stop} Go on with: {resume_command()}") from None

    def show() -> None:
        output.line(f"Classifier: {done.model}")
        result, rows = done.record["result"], {row["step"]: row for row in done.record["result"]["history"]}
        if result["best_step"] in rows:
            kept = measured(rows[result["best_step"]])
            output.line(f"Kept the checkpoint of step {result['best_step']} of {result['steps']}: {kept}.")
        if done.record["calibration"]:
            found = done.record["calibration"]
            output.line(
                f"Calibration error {found['calibration_error']:.3f} at temperature {found['temperature']:.2f}; "
                f"{found['calibration_error_before']:.3f} before."
            )
        output.line("Tell the labels of other texts:")
        output.line(f"mirrormask classify predict {shlex.quote(str(out))} FILE --out labelled.csv")

    if world()[0] == 0:
        output.result({"out": str(out), "model": str(done.model), **done.record}, show)


@app.command("predict")
def predict(
    model: str = typer.Argument(..., help="A classifier: the folder that `classify train` left."),
    source: str = typer.Argument(..., help="Texts: a file of any format, or - for stdin, a text a line."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="Where to: .jsonl, .csv or .tsv.", show_default="JSON lines on stdout"
    ),
    text_column: str = TextNamed,
    every: bool = typer.Option(False, "--every", help="Also the probability of every class."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Write every row of a file with its label and probability, streaming.

    [bold]mirrormask classify predict my-classifier new.csv --out labelled.csv[/bold]

    One text: [bold]echo "what a fine boat" | mirrormask classify predict my-classifier -[/bold]
    """
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    from mirrormask.data.text.compression import check_file

    check_file(source)  # before anything slow is imported
    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.wording import counted
    from mirrormask.heads.classifier import Classifier
    from mirrormask.heads.predicting import predict_file

    output = Output(as_json=as_json, quiet=quiet)
    if as_json and out is None:
        raise MirrormaskError("--json prints a summary on stdout, where the predictions would go. Give them --out.")
    columns = (SpinnerColumn(), TextColumn("predicting"), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = output.quiet or not output.err.is_terminal
    with Progress(*columns, console=output.err, disable=hidden, transient=True) as bar:
        task = bar.add_task("predicting", total=None)
        found = predict_file(
            Classifier.load(model),
            source,
            out,
            text=text_column,
            every=every,
            progress=lambda count: bar.advance(task, count),
        )
    if out is None:
        return

    def show() -> None:
        output.line(f"{counted(found['rows'], 'row')} in {out}")
        for label, count in list(found["labels"].items())[:20]:
            output.line(f"  {count:>7,}  {label}")
        if found["empty"]:
            output.line(f"{counted(found['empty'], 'row')} without text got no label.")

    output.result({"model": model, "out": str(out), **found}, show)


@app.command("evaluate")
def evaluate(
    model: str = typer.Argument(..., help="A classifier: the folder that `classify train` left."),
    data: str = typer.Argument(..., help="Texts with labels that it has not seen: a file, or a dataset name."),
    text_column: str = TextNamed,
    label_column: str = LabelNamed,
    several: bool = Several,
    names: str = Names,
    skip_unseen: bool = typer.Option(
        False, "--skip-unseen", help="Leave out rows whose label was not learned, instead of refusing them."
    ),
    figure: Path | None = typer.Option(None, "--figure", help="Draw the confusion matrix: .png or .svg."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Score a classifier: accuracy, F1, calibration, how sure it is, and which classes it confuses.

    [bold]mirrormask classify evaluate my-classifier test.csv --figure confusion.png[/bold]
    """
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.data.tasks.classified import read_classified

    output = Output(as_json=as_json, quiet=quiet)
    if figure is not None:
        from mirrormask.heads.confusion_figure import check_figure

        spare_inputs([data, model], replaced=[check_figure(figure)], option="--figure")
    labelled = read_classified(data, **_columns(text_column, label_column, several, names))
    from mirrormask.heads.classifier import Classifier
    from mirrormask.heads.judging import judge

    classifier = Classifier.load(model)
    with output.steps() as step:
        found = judge(
            classifier,
            labelled,
            skip_unseen=skip_unseen,
            figure=figure,
            progress=lambda n: step("texts", n, len(labelled)),
        )
    content = {"model": model, "data": data, "figure": None if figure is None else str(figure), **found}
    output.result(content, lambda: _show(output, found, figure))


def _columns(text: str, label: str, several: bool, names: str) -> dict[str, Any]:
    given = tuple(name.strip() for name in names.split(",") if name.strip())
    return {"text": text, "label": label, "several": several, "names": given}


def _show(output: Output, found: dict[str, Any], figure: Path | None) -> None:
    shown = {
        "accuracy": f"{found['accuracy_percent']:.2f}",
        "macro-F1": f"{found['macro_f1_percent']:.2f}",
        "weighted F1": f"{found['weighted_f1_percent']:.2f}",
        **({"micro-F1": f"{found['micro_f1_percent']:.2f}"} if "micro_f1_percent" in found else {}),
        "calibration error": f"{found['calibration_error']:.3f} ({found['calibration_error_before']:.3f} uncalibrated)",
        "entropy in bits": f"{found['entropy_bits']:.3f}",
    }
    output.table(f"{found['rows']:,} texts", ["measure", "value"], list(shown.items()))
    rows = [[each["label"], f"{each['rows']:,}", f"{each['f1_percent']:.1f}"] for each in found["classes"]]
    output.table("classes", ["label", "texts", "F1"], rows)
    pairs = [
        [f"{each['one']} – {each['other']}", f"{each['one_as_other']:,}", f"{each['other_as_one']:,}"]
        for each in found.get("most_confused", [])
    ]
    if pairs:
        output.table("most confused", ["one – other", "one as other", "other as one"], pairs)
    if found["skipped"]:
        output.line(f"{found['skipped']:,} rows with labels that were not learned are left out.")
    if figure is not None:
        drawn = "confusion" in found
        output.line(f"Figure: {figure}" if drawn else "No figure: with several labels a text there is no confusion.")
