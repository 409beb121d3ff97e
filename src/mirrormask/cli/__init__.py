"""The command line: one file per verb. A command parses, calls one library function, prints."""

from __future__ import annotations

import os
import sys
import warnings

import typer

from mirrormask import __version__
from mirrormask.cli import (
    attack,
    back_translate,
    classify,
    compare,
    duplicates,
    encode,
    evaluate,
    export,
    flow,
    index,
    info,
    lexicon,
    map,
    multitask,
    parts,
    pretrain,
    probe,
    prompt,
    publish,
    quickstart,
    run,
    search,
    serve,
    similarity,
    study,
    train,
    train_victim,
    whiten,
    word_vectors,
)
from mirrormask.cli.output import run_safely
from mirrormask.core.plugins import BrokenPlugin

app = typer.Typer(
    name="mirrormask",
    help="Turn a masked language model into a sentence encoder without labels, and measure it.\n\n"
    "First time? [bold]mirrormask quickstart[/bold] trains and measures an encoder in about three minutes, offline.\n\n"
    "Your own text: [bold]mirrormask train my.txt --out my-encoder[/bold], then "
    "[bold]mirrormask evaluate mini-sentence my-encoder --data my-pairs.csv[/bold] for the proof.\n\n"
    "Find things in it: [bold]mirrormask index my.txt --model my-encoder --out my-index[/bold], then "
    '[bold]mirrormask search my-index "what you look for"[/bold].\n\n'
    "Texts with labels: [bold]mirrormask classify train my-labels.csv --out my-classifier[/bold].",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def _version(value: bool) -> None:
    if value:
        print(f"mirrormask {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    pass


app.command("quickstart")(quickstart.quickstart)
app.command("train")(train.train)
app.command("pretrain")(pretrain.pretrain)
app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("study")(study.study)
app.command("whiten")(whiten.whiten)
app.command("flow")(flow.flow)
app.command("word-vectors")(word_vectors.word_vectors)
app.command("back-translate")(back_translate.back_translate)
app.command("evaluate")(evaluate.evaluate)
app.command("lexicon")(lexicon.lexicon)
app.command("encode")(encode.encode)
app.command("export")(export.export)
app.command("publish")(publish.publish)
app.command("index")(index.index)
app.command("search")(search.search)
app.command("serve")(serve.serve)
app.add_typer(classify.app, name="classify")
app.add_typer(multitask.app, name="multitask")
app.command("similarity")(similarity.similarity)
app.command("duplicates")(duplicates.duplicates)
app.command("map")(map.draw)
app.command("probe")(probe.probe)
app.add_typer(prompt.app, name="prompt")
app.command("attack")(attack.attack)
app.command("train-victim")(train_victim.train_victim)
app.command("info")(info.info)
app.command("list")(parts.list_parts)


def _in_one_line(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    """Return a warning of ours as its sentence; others as Python shows them."""
    if issubclass(category, BrokenPlugin):
        return f"Warning: {message}\n"
    return f"{filename}:{lineno}: {category.__name__}: {message}\n"


def main() -> None:
    """Run the command line; the exit code says what happened."""
    # threads that wait busily for long make training many times slower as soon as another program wants a core
    os.environ.setdefault("GOMP_SPINCOUNT", "30000")
    warnings.formatwarning = _in_one_line
    sys.exit(run_safely(app))
