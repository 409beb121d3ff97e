"""`mirrormask attack`: how few words turn a classifier's answer?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

if TYPE_CHECKING:
    from mirrormask.attack.attack_report import AttackReport

_SHOWN = 5  # texts in the terminal, of each attack


def attack(
    victim: str = typer.Argument(
        "",
        help="The classifier: a folder (train-victim, classify, prompt, or a Hugging Face sequence classifier), or "
        "module:name of a Python callable or scikit-learn pipeline.",
    ),
    data: str = typer.Argument(
        "", help="Labeled texts: a file (.csv .tsv .jsonl .parquet, also compressed), or a dataset name."
    ),
    attacks: list[str] = typer.Option(
        [], "--attack", "-a", help="R, I, R/I, R+I or TextFooler; may be repeated.", show_default="R+I"
    ),
    out: Path = typer.Option(None, "--out", "-o", help="Write the report: .html, or .json with every text."),
    model: str = typer.Option("mini", "--model", "-m", help="The masked LM that proposes words."),
    similarity: str = typer.Option("use", "--similarity", help="What compares meanings: use, or a sentence encoder."),
    reading: str = typer.Option(
        "calibrated", "--reading", help="Of the threshold: calibrated, textfooler, textattack or openattack."
    ),
    threshold: float = typer.Option(
        None, "--threshold", help="The least cosine with the original.", show_default="of the reading"
    ),
    tags: bool = typer.Option(True, help="Keep the part of speech of replaced words (English)."),
    candidates: int = typer.Option(50, "--candidates", help="Words tried in a place."),
    counted: str = typer.Option("tokens", "--counted", help="Whether candidates count tokens or whole words."),
    vectors: str = typer.Option("mini", "--vectors", help="TextFooler's word vectors: a text file or a masked LM."),
    lexicon: Path = typer.Option(None, "--lexicon", help="Synonyms and antonyms that these are fitted to (.jsonl)."),
    queries: int = typer.Option(
        0, "--queries", help="Texts to ask the classifier about, for each.", show_default="any"
    ),
    seconds: float = typer.Option(0.0, "--seconds", help="Time of each attack.", show_default="any"),
    saving: str = typer.Option("time", "--saving", help="What to spare: time, or queries."),
    limit: int = typer.Option(0, "--limit", help="Only so many texts, drawn by the seed.", show_default="all"),
    text_column: str = typer.Option("", "--text-column", help="Column of the text.", show_default="text, sentence …"),
    label_column: str = typer.Option("", "--label-column", help="Column of the label.", show_default="label, class …"),
    transfer: list[str] = typer.Option([], "--transfer", help="Other classifiers to try the found texts on."),
    augment: Path = typer.Option(
        None, "--augment", help="Labeled training texts: attack them, train anew with what is found, measure again."
    ),
    hardened: Path = typer.Option(None, "--hardened", help="Folder for the classifier that --augment trains."),
    kind: str = typer.Option("word-cnn", "--kind", help="Of the classifier that --augment trains."),
    sheet: Path = typer.Option(
        None, "--sheet", help="Write a blind sheet for raters (.csv); without a classifier, score it once filled."
    ),
    seed: int = typer.Option(42, "--seed", help="Of the texts drawn, calibration, sheet and training."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Find texts that mean the same to people and something else to a classifier, by swapping and adding a few words.

    [bold]mirrormask attack my-victim reviews.csv --attack R --attack R+I --out report.html[/bold]

    A scikit-learn pipeline in your own module: [bold]mirrormask attack my_module:pipeline reviews.csv[/bold]
    """
    from mirrormask.core.errors import MirrormaskError

    output = Output(as_json=as_json, quiet=quiet)
    if not victim and sheet is not None:
        _score(output, sheet)
        return
    if not victim or not data:
        raise MirrormaskError("Name the classifier and the texts: mirrormask attack CLASSIFIER TEXTS.")
    if (augment is None) != (hardened is None):
        raise MirrormaskError("--augment (texts to learn from) and --hardened (where to write) belong together.")

    from mirrormask.attack.labeled_texts import read_labeled
    from mirrormask.core.errors import at_least
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable

    at_least("limit", limit, 0, of="an attack")
    written = [each for each in (out, sheet, hardened) if each is not None]
    for each in written:
        check_writable(each.parent)
    spare_inputs([data, victim, model, lexicon, augment], replaced=written)
    texts = read_labeled(data, text=text_column, label=label_column)
    training = None if augment is None else read_labeled(augment, text=text_column, label=label_column)

    from mirrormask.attack.attack_report import check_format
    from mirrormask.attack.attack_texts import AttackPlan, Opened, attack_texts, checked_labels
    from mirrormask.runs.victim_names import open_any_victim

    if out is not None:
        check_format(out)
    plan = AttackPlan(
        attacks=tuple(dict.fromkeys(attacks)) or ("R+I",),
        model=model,
        similarity=similarity,
        reading=reading,
        threshold=threshold,
        tags=tags,
        candidates=candidates,
        counted=counted,
        vectors=vectors,
        lexicon=lexicon,
        queries=queries,
        seconds=seconds,
        saving=saving,
        seed=seed,
    )
    opened_victim = open_any_victim(victim)
    others = [open_any_victim(each) for each in transfer]
    some = texts.sample(limit, seed) if limit else texts
    checked_labels(opened_victim, some)
    opened = Opened(plan, some.texts)
    with output.steps() as progress:
        report = attack_texts(opened_victim, some, plan, transfer=others, opened=opened, progress=progress)
    if training is not None:
        from dataclasses import replace

        from mirrormask.attack.hardening import harden
        from mirrormask.cli.progress import reporter_for

        name = plan.attacks[-1]
        _, told, _ = harden(
            opened_victim,
            training,
            some,
            report.outcomes[name],
            opened,
            name,
            hardened,
            kind=kind,
            model=model,
            seed=seed,
            reporter=reporter_for(output),
        )
        report = replace(report, hardened=told)
    _written(output, report, out, sheet, seed)


def _written(output: Output, report: AttackReport, out: Path | None, sheet: Path | None, seed: int) -> None:
    if out is not None:
        report.save(out)
    if not any(each.found for outcomes in report.outcomes.values() for each in outcomes):
        sheet = None  # nothing to rate
    if sheet is not None:
        from mirrormask.attack.rating_sheet import write_sheet

        write_sheet(sheet, report.outcomes, report.labels, seed=seed)

    def show() -> None:
        for name, outcomes in report.outcomes.items():
            _examples(output, report, name, outcomes)
        for table in report.tables():
            output.report(table)
        for sentence in report.verdict():
            output.line(sentence, style="bold")
        if out is not None:
            output.line(f"Report: {out}")
        if sheet is not None:
            output.line(f"Sheet to fill in: {sheet} (score it with: mirrormask attack --sheet {sheet})")

    files = {"out": out, "sheet": sheet}
    output.result({**report.to_dict(), **{name: each and str(each) for name, each in files.items()}}, show)


def _examples(output: Output, report: AttackReport, name: str, outcomes: Any) -> None:
    """Print some found texts, what is gone in red and what is new in green or blue."""
    from rich.text import Text

    from mirrormask.attack.marked_text import ADDED, GONE, REPLACED, SAME, segments

    styles = {SAME: "", GONE: "red strike", REPLACED: "bold green", ADDED: "bold blue"}
    turned = [each for each in outcomes if each.found is not None]
    if turned:
        output.line(f"Found by {name}:", style="bold")
    for each in turned[:_SHOWN]:
        line = Text(f"  {report.label(each.label)} → {report.label(each.predicted)}  ", style="dim")
        for part, text in segments(each.edited):
            shown = f"[-{text}-]" if part == GONE else f"[+{text}+]" if part != SAME else text
            line.append(text if output.out.is_terminal else shown, style=styles[part])
            if part == GONE:
                line.append(" ")
        output.out.print(line, soft_wrap=True)
    output.line("")


def _score(output: Output, sheet: Path) -> None:
    from dataclasses import asdict

    from mirrormask.attack.rating_sheet import score_sheet, table_of
    from mirrormask.data.text.compression import check_file

    check_file(str(sheet))
    rated = score_sheet(sheet)
    output.result({"rated": [asdict(each) for each in rated]}, lambda: output.report(table_of(rated)))
