"""`mirrormask prompt`: labels by cloze questions, without training or from a few examples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

app = typer.Typer(
    help="Label texts by cloze questions: a template with a [MASK], and a word for each label.\n\n"
    '[bold]mirrormask prompt score "It was [MASK]." --labels good,bad reviews.csv[/bold]',
    no_args_is_help=True,
    rich_markup_mode="rich",
)

_Prompt = typer.Argument(..., help="A template in quotes, the name of a task, or a table in TOML.", metavar="PROMPT")
_Model = typer.Option("mini", "--model", "-m", help="A masked language model, by name or folder.")
_Labels = typer.Option("", "--labels", help="Words of the labels: good,bad or 1=good|great,0=bad.")
_Column = typer.Option("", "--column", "-c", help="Column that holds the text.", show_default="the likely one")
_LabelColumn = typer.Option("", "--label-column", help="Column that holds labels.", show_default="label")
_Length = typer.Option(256, "--max-length", help="Tokens of a row; texts are cut, the question never.")
_Limit = typer.Option(None, "--limit", help="Only the first so many rows.")


@app.command("score")
def score(
    prompt: str = _Prompt,
    file: Path = typer.Argument(..., help="The texts: .csv .tsv .jsonl .parquet .txt, also compressed."),
    labels: str = _Labels,
    unlabelled: Path = typer.Option(
        None, "--unlabelled", help="Texts that tell how likely the words are anyway.", show_default="the texts"
    ),
    calibration: bool = typer.Option(True, "--calibration/--no-calibration", help="Take that off the scores."),
    find_words: Path = typer.Option(None, "--find-words", help="A few labelled texts, to find the labels' words from."),
    out: Path = typer.Option(None, "--out", "-o", help="Write the label of every row: .csv or .jsonl."),
    model: str = _Model,
    column: str = _Column,
    label_column: str = _LabelColumn,
    max_length: int = _Length,
    limit: int = _Limit,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Label texts without training: which label's word does the model expect at the mask?

    [bold]mirrormask prompt score "It was [MASK]." --labels good,bad reviews.csv[/bold]

    Words are hard to choose: [bold]--find-words few.csv[/bold] proposes them from a few labelled texts.
    """
    from mirrormask.core.errors import MirrormaskError, at_least

    output = Output(as_json=as_json, quiet=quiet)
    at_least("max-length", max_length, 3, of="prompt")
    if limit is not None:
        at_least("limit", limit, 1, of="prompt")
    if labels and find_words is not None:
        raise MirrormaskError("Give --labels or --find-words, not both.")
    _check_files(out, file, unlabelled, find_words, model)
    from mirrormask.prompting.prompt_score import record_of, score_file
    from mirrormask.prompting.verbalizer import parse_labels

    done = score_file(
        prompt,
        file,
        labels=parse_labels(labels) if labels else None,
        model=model,
        unlabelled=unlabelled,
        calibrate=calibration,
        few=find_words,
        column=column,
        label_column=label_column,
        max_length=max_length,
        limit=limit,
    )
    if out is not None:
        done.answers.save(out, done.examples)

    def show() -> None:
        if done.found_words:
            rows = [(y, ", ".join(f"{w} ({s:+.1f})" for w, s in found)) for y, found in done.found_words.items()]
            output.table("Words found, with their log odds against the other labels", ("label", "words"), rows, left=2)
        _show(output, done.answers, done.examples, done.measures, out)

    output.result({**record_of(done), "file": None if out is None else str(out)}, show)


def _check_files(out: Path | None, *inputs: Path | str | None) -> None:
    """Refuse what cannot be read or written before anything slow is imported."""
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.data.text.compression import check_file

    for each in inputs[:-1]:
        if each is not None:
            check_file(each)
    if out is not None:
        from mirrormask.prompting.answers import check_format

        check_format(out)
        check_writable(out.parent)
        spare_inputs(inputs, replaced=[out])


def _show(output: Output, answers: Any, examples: Any, measures: dict[str, dict[str, float]], out: Path | None) -> None:
    """Print the first rows, and how good the labels are where that is known."""
    if out is None:
        first = next(iter(examples.fields[0]))
        rows = [
            (str(row["label"]), row[first][:100], f"{row['probability']:.2f}")
            for row, _ in zip(answers.rows(examples), range(10), strict=False)
        ]
        output.table("", ("label", first, "probability"), rows, left=2)
        if len(examples) > 10:
            output.line(f"{len(examples) - 10:,} more rows; --out FILE.csv writes all of them.")
    _measures(output, measures)
    if out is not None:
        output.line(f"Labels: {out}")


def _measures(output: Output, measures: dict[str, dict[str, float]]) -> None:
    for name, found in measures.items():
        more = "".join(f", {key} {100 * found[key]:.1f}" for key in ("exact_match", "f1a") if key in found)
        output.line(
            f"{name[:1].upper()}{name[1:]}: accuracy {100 * found['accuracy']:.1f} "
            f"[{100 * found['low']:.1f}, {100 * found['high']:.1f}], macro-F1 {100 * found['macro_f1']:.1f}{more} "
            f"({int(found['n']):,} rows; the most frequent label alone has {100 * found['majority']:.1f})."
        )


@app.command("train")
def train(
    prompt: str = _Prompt,
    file: Path = typer.Argument(None, help="The examples, with a label column; ipet does without."),
    out: Path = typer.Option(..., "--out", "-o", help="The folder to leave the result in."),
    labels: str = _Labels,
    mode: str = typer.Option(
        "",
        "--mode",
        help="few-shot: every pattern tuned, their mean; pet: distilled into a classifier; ipet: over generations.",
        show_default="pet with --unlabelled, else few-shot",
    ),
    unlabelled: Path = typer.Option(None, "--unlabelled", help="Texts without labels, for pet, ipet and --mlm-weight."),
    dev: Path = typer.Option(None, "--dev", help="Other labelled examples, to choose a checkpoint by."),
    find_words: bool = typer.Option(False, "--find-words", help="Find the labels' words from the examples."),
    model: str = _Model,
    student: str = typer.Option("", "--student", help="What the classifier begins with.", show_default="the model"),
    steps: int = typer.Option(120, "--steps", help="Updates of each pattern."),
    batch_size: int = typer.Option(16, "--batch-size", help="Examples of an update."),
    learning_rate: float = typer.Option(3e-5, "--learning-rate", help="Of the model."),
    soft_rate: float = typer.Option(10.0, "--soft-rate", help="Of soft tokens, in shares of it."),
    soft: str = typer.Option("lstm-wide", "--soft", help="Soft tokens: lstm-wide, lstm or plain."),
    freeze: bool = typer.Option(False, "--freeze", help="Train soft tokens [P] alone; the model stays as it is."),
    mlm_weight: float = typer.Option(0.0, "--mlm-weight", help="Share of the masked-LM loss (PET: 0.0001)."),
    repetitions: int = typer.Option(1, "--repetitions", help="Models for each pattern."),
    weights: str = typer.Option("accuracy", "--weights", help="Of patterns: accuracy before training, or uniform."),
    generations: int = typer.Option(3, "--generations", help="Of ipet."),
    distill_steps: int = typer.Option(400, "--distill-steps", help="Updates of the classifier."),
    column: str = _Column,
    label_column: str = _LabelColumn,
    max_length: int = _Length,
    seed: int = typer.Option(42, "--seed", help="Of order, dropout and fresh weights."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Learn from a few labelled examples, and from text without labels.

    [bold]mirrormask prompt train mr few.csv --unlabelled reviews.txt --out my-prompt[/bold]

    Then [bold]mirrormask prompt predict my-prompt new.csv --out labels.csv[/bold]. A template with soft tokens,
    [bold]"{text} [P*3] [MASK]"[/bold], is P-tuning.
    """
    from mirrormask.core.errors import MirrormaskError, at_least
    from mirrormask.core.overwriting import spare_inputs

    output = Output(as_json=as_json, quiet=quiet)
    at_least("max-length", max_length, 3, of="prompt")
    if labels and find_words:
        raise MirrormaskError("Give --labels or --find-words, not both.")
    _check_files(None, file, unlabelled, dev, model)
    spare_inputs([file, unlabelled, dev, model], replaced=[out])
    from mirrormask.prompting.distillation import Distilling
    from mirrormask.prompting.next_generation import Generations
    from mirrormask.prompting.pattern_tuning import Tuning
    from mirrormask.prompting.pet import PromptTraining
    from mirrormask.prompting.prompt_files import train_files
    from mirrormask.prompting.verbalizer import parse_labels

    how = PromptTraining(
        mode=mode or ("pet" if unlabelled is not None else "few-shot"),
        tuning=Tuning(
            steps=steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            soft_rate=soft_rate,
            frozen=freeze,
            mlm_weight=mlm_weight,
            seed=seed,
        ),
        repetitions=repetitions,
        weights=weights,
        soft=soft,
        distilling=Distilling(steps=distill_steps, max_length=max_length),
        generations=Generations(count=generations),
        student=student,
    )
    with output.steps() as progress:
        done = train_files(
            prompt,
            file,
            out,
            how,
            labels=parse_labels(labels) if labels else None,
            find=find_words,
            model=model,
            unlabelled=unlabelled,
            dev=dev,
            column=column,
            label_column=label_column,
            max_length=max_length,
            progress=progress,
        )

    def show() -> None:
        for label, words in done["words"].items():
            output.line(f"{label}: {', '.join(words)}")
        output.line(f"{done['mode']}: {done['members']} tuned on {done['examples']} examples, in {out}.")
        output.line(f"Next: mirrormask prompt predict {out} FILE --out labels.csv")

    output.result({**done, "out": str(out)}, show)


_Tuned = typer.Argument(..., help="A folder that prompt train left.", metavar="MODEL")


@app.command("predict")
def predict(
    model: Path = _Tuned,
    file: Path = typer.Argument(..., help="The texts: .csv .tsv .jsonl .parquet .txt, also compressed."),
    out: Path = typer.Option(None, "--out", "-o", help="Write the label of every row: .csv or .jsonl."),
    column: str = _Column,
    limit: int = _Limit,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Label texts with what prompt train made.

    [bold]mirrormask prompt predict my-prompt new.csv --out labels.csv[/bold]
    """
    from mirrormask.core.errors import at_least

    output = Output(as_json=as_json, quiet=quiet)
    if limit is not None:
        at_least("limit", limit, 1, of="prompt")
    _check_files(out, file, str(model))
    from mirrormask.prompting.prompt_files import counts_of, predict_file

    examples, answers = predict_file(model, file, labels="none", column=column, limit=limit)
    if out is not None:
        answers.save(out, examples)
    content = {"rows": len(examples), "counts": counts_of(answers), "file": None if out is None else str(out)}
    output.result(content, lambda: _show(output, answers, examples, {}, out))


@app.command("evaluate")
def evaluate(
    model: Path = _Tuned,
    file: Path = typer.Argument(..., help="Texts with labels."),
    column: str = _Column,
    label_column: str = _LabelColumn,
    limit: int = _Limit,
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Measure what prompt train made on texts whose labels are known.

    [bold]mirrormask prompt evaluate my-prompt test.csv[/bold]
    """
    from mirrormask.core.errors import at_least

    output = Output(as_json=as_json, quiet=quiet)
    if limit is not None:
        at_least("limit", limit, 1, of="prompt")
    _check_files(None, file, str(model))
    from mirrormask.prompting.prompt_files import measured, predict_file

    examples, answers = predict_file(
        model, file, labels="needed", column=column, limit=limit, label_column=label_column
    )
    found = measured(examples, answers)
    output.result({"measures": found}, lambda: _measures(output, {"tuned": found}))
