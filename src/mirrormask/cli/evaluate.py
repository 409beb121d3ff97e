"""`mirrormask evaluate`: how good is an encoder, and is one really better than another?"""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def evaluate(
    models: list[str] = typer.Argument(
        ..., help="One model, or several to compare with the first; on folders also indexes and bm25."
    ),
    data: list[str] = typer.Option(
        [],
        "--data",
        "-d",
        help="Your own file: scored pairs (sentence1, sentence2, score), queries (query, document) or labeled texts "
        "(text, label). Or a folder to search in, with docs.jsonl, queries.jsonl and qrels.tsv, or in BEIR's layout; "
        "folders may be repeated.",
    ),
    kind: str = typer.Option(
        "", "--kind", help="What the file is, if its columns do not say: pairs, retrieval, labels."
    ),
    column: list[str] = typer.Option([], "--column", help="Column of a role: --column query=headline"),
    suite: list[str] = typer.Option(
        [],
        "--suite",
        help="Other published tasks, may be repeated: transfer (`mirrormask list suite`), and sts beside them.",
    ),
    tasks: list[str] = typer.Option(
        [],
        "--task",
        "-t",
        help="STS task, may be repeated: sts12 … sts16, stsb, stsb-dev, sickr; or a task of a --suite.",
        show_default="all seven, unless --data or --suite is given",
    ),
    split: str = typer.Option("test", "--split", help="The judgements to read, where a folder has several."),
    max_length: int = typer.Option(
        256, "--max-length", help="Tokens read of a text in a folder, where the encoder would read more."
    ),
    geometry: bool = typer.Option(True, help="Also measure alignment, uniformity, anisotropy and the spectrum."),
    report: Path = typer.Option(
        None, "--report", "-r", help="Write a one-file HTML report with figures, or tables (.md)."
    ),
    resamples: int = typer.Option(1000, "--resamples", help="Bootstrap resamples behind every interval."),
    seed: int = typer.Option(42, "--seed", help="Of resamples and samples."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Measure encoders on STS benchmarks or on your own data, with confidence intervals.

    [bold]mirrormask evaluate mini-sentence my-encoder --data my-pairs.csv --report report.html[/bold]

    On a folder with judged queries it measures search: nDCG@10, MRR@10 and recall@100, with BM25 always beside the
    encoders. Several folders make a table with the mean:

    [bold]mirrormask evaluate mini-sentence my-encoder --data my-collection --data retrieval/cranfield[/bold]

    Sentence classification by SentEval's protocol: [bold]mirrormask evaluate my-encoder --suite transfer[/bold]

    Without --data and --suite it takes the STS benchmarks that it finds under the folders in MIRRORMASK_DATA, or on
    the hub.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.data.tasks.retrieval_collection import find_collection
    from mirrormask.data.text.compression import check_file

    for each in data:
        if find_collection(each) is None:
            check_file(each)  # before anything slow is imported
    from mirrormask.evaluation.evaluate import evaluate as measure

    output = Output(as_json=as_json, quiet=quiet)
    if report is not None:
        check_writable(report.parent)
        spare_inputs([*data, *models], replaced=[report], option="--report")
    roles = {}
    for pair in column:
        role, equals, name = pair.partition("=")
        if not equals:
            raise MirrormaskError(f"A column is named as role=column, such as query=headline. Got {pair!r}.")
        roles[role] = name
    with Progress(
        TextColumn("encoding with {task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        console=output.err,
        disable=output.quiet or not output.err.is_terminal,
        transient=True,
    ) as bar:
        bars = {}

        def progress(name: str, done: int, total: int) -> None:
            if name not in bars:
                bars[name] = bar.add_task(name, total=total)
                if not output.err.is_terminal:
                    output.say(f"Encoding {total:,} texts with {name}.")
            bar.advance(bars[name], done)

        found = measure(
            models,
            tasks=tasks or None,
            suite=suite,
            data=data or None,
            kind=kind or None,
            columns=roles or None,
            split=split,
            max_length=max_length,
            geometry=geometry,
            seed=seed,
            resamples=resamples,
            progress=progress,
        )
    if report is not None:
        found.save(report)

    def show() -> None:
        for table in found.tables():
            output.report(table)
        for sentence in found.verdict():
            output.line(sentence, style="bold")
        if report is not None:
            output.line(f"Report: {report}")

    output.result({**found.to_dict(), "report": None if report is None else str(report)}, show)
