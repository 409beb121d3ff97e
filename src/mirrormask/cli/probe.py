"""`mirrormask probe`: what a model knows about structure, read out by masking alone."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

_TASKS = ("dependency", "constituency", "discourse", "segment")


def probe(
    what: str = typer.Argument(
        ..., help='A sentence in quotes, or a task: "dependency", "constituency", "discourse" or "segment".'
    ),
    file: Path = typer.Argument(
        None, help="With a task: CoNLL-U or CoNLL, bracketed trees, SciDTB JSON, or plain text to segment."
    ),
    model: str = typer.Option(
        "",
        "--model",
        "-m",
        help="A masked language model, by name or folder.",
        show_default="mini; mini-zh for segment and for a Chinese sentence",
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="A sentence: a picture, .png .svg or .html. A task: the induced trees or words."
    ),
    layer: int = typer.Option(-1, "--layer", help="0 is the embeddings, -1 the last layer."),
    measure: str = typer.Option("euclidean", "--measure", help="euclidean, cosine, probability, cosine-similarity."),
    decoder: str = typer.Option(
        "", "--decoder", help="Of trees.", show_default="eisner (or cle); constituency: mart, mart-paper, mart-released"
    ),
    normalization: str = typer.Option(
        "", "--normalization", help="Of the matrix before it is decoded.", show_default="the task's own"
    ),
    root: str = typer.Option("", "--root", help="Root of trees: gold or found.", show_default="gold for files"),
    faithful: bool = typer.Option(False, "--faithful", help="Do as the released code does, faults included."),
    units: str = typer.Option("words", "--units", help="How a sentence is cut: words, spaces or characters."),
    gold: Path = typer.Option(None, "--gold", help="segment: the same text with spaces between words, to score."),
    dev: Path = typer.Option(None, "--dev", help="segment: segmented text whose words choose the threshold."),
    rule: str = typer.Option(
        "", "--rule", help="segment: mean-length, otsu, mixture or fixed.", show_default="mean-length"
    ),
    value: float = typer.Option(
        None, "--value", help="segment: the mean length, or the fixed threshold.", show_default="1.6"
    ),
    limit: int = typer.Option(None, "--limit", help="Only the first so many sentences of the file."),
    store: Path = typer.Option(None, "--store", help="A folder that keeps the matrices; a killed run goes on from it."),
    precision: str = typer.Option("auto", "--precision", help="auto, fp32, bf16 or fp16."),
    seed: int = typer.Option(42, "--seed", help="Of random baselines."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Mask every two words and see what each does to the other: a heat map, a dependency tree, phrases.

    [bold]mirrormask probe "the old boat crossed the river" --out probe.html[/bold]

    A whole file of trees, scored: [bold]mirrormask probe dependency treebank.conllu --out induced.conllu[/bold]

    Chinese text into words: [bold]mirrormask probe segment text.txt --out words.txt[/bold]
    """
    from mirrormask.core.errors import MirrormaskError, did_you_mean

    output = Output(as_json=as_json, quiet=quiet)
    if what in _TASKS and file is None:
        raise MirrormaskError(f"The task {what!r} needs a file: mirrormask probe {what} FILE.")
    if file is not None and what not in _TASKS:
        raise MirrormaskError(
            f"There is no task {what!r}; known are {', '.join(_TASKS)}.{did_you_mean(what, _TASKS)} "
            "Put a sentence in quotes."
        )
    options = {
        "--root": root,
        "--faithful": faithful,
        "--gold": gold,
        "--dev": dev,
        "--rule": rule,
        "--value": value is not None,
        "--limit": limit is not None,
        "--store": store,
    }
    if file is None:
        _refuse(options, list(options), "a task and its file, not to a sentence")
        _sentence(output, what, model, out, layer, measure, decoder, normalization, units, precision)
        return

    from mirrormask.probing.segmentation import Segmenter
    from mirrormask.probing.whole_files import FileProbe

    if what != "segment":
        _refuse(options, ["--rule", "--value"], "segment, not to a task of trees")
    if rule == "fixed" and value is None:
        raise MirrormaskError("The rule 'fixed' needs --value, the threshold below which neighbors are cut apart.")
    chosen: dict[str, Any] = {"rule": rule or "mean-length"} | ({} if value is None else {"value": value})
    how = FileProbe(
        model=model,
        layer=layer,
        measure=measure,
        decoder=decoder or None,
        normalization=normalization or None,
        root=root or "gold",
        faithful=faithful,
        segmenter=Segmenter(**chosen),
        dev=dev,
        gold=gold,
        limit=limit,
        out=out,
        store=store,
        precision=precision,
        seed=seed,
    )
    _file(output, what, file, how)


def _refuse(options: dict[str, Any], names: list[str], place: str) -> None:
    """Refuse options that would be passed over in silence."""
    from mirrormask.core.errors import MirrormaskError

    for name in names:
        if options[name]:
            raise MirrormaskError(f"{name} belongs to {place}. Leave it out.")


def _sentence(
    output: Output,
    text: str,
    model: str,
    out: Path | None,
    layer: int,
    measure: str,
    decoder: str,
    normalization: str,
    units: str,
    precision: str,
) -> None:
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.probing.dependency import DependencyParser
    from mirrormask.probing.impact import Impact
    from mirrormask.probing.pictures import check_picture, save_picture
    from mirrormask.probing.sentence import probe_sentence

    if out is not None:
        check_picture(out)
        spare_inputs([model], replaced=[out])
    found = probe_sentence(
        text,
        model=model,
        impact=Impact(layer=layer, measure=measure),
        parser=DependencyParser(decoder or "eisner", normalization or "softmax", root="found"),
        units=units,
        precision=precision,
    )
    if out is not None:
        save_picture(found, out)

    def show() -> None:
        from mirrormask.cli.probe_terminal import print_probed

        print_probed(output, found)
        if out is not None:
            output.line(f"Picture: {out}")

    output.result({**found.to_dict(), "out": None if out is None else str(out)}, show)


def _file(output: Output, task: str, file: Path, how: Any) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from mirrormask.probing.whole_files import probe_file

    columns = (TextColumn("masking"), BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())
    bar = Progress(*columns, console=output.err, disable=output.quiet or not output.err.is_terminal, transient=True)
    shown = bar.add_task("masking", total=None)

    def progress(done: int, total: int) -> None:
        bar.start()  # only now: an error before it stays alone on its line
        bar.update(shown, total=total, advance=done)

    try:
        found = probe_file(task, file, how, progress=progress)
    finally:
        if bar.live.is_started:
            bar.stop()

    def show() -> None:
        from mirrormask.cli.probe_terminal import print_scores

        print_scores(output, found)
        if how.out is not None:
            output.line(f"Written: {how.out}")
        elif task == "segment":
            output.line(f"All lines into a file: mirrormask probe segment {shlex.quote(str(file))} --out words.txt")

    if "warning" in found:
        output.say(f"Warning: {found['warning']}")
    output.result(found, show)
