"""`mirrormask lexicon`: are the words of two languages near their translations?"""

from __future__ import annotations

from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet


def lexicon(
    source: str = typer.Argument(..., help="Model of the first language."),
    target: str = typer.Argument(..., help="Model of the second language; the same where one knows both."),
    languages: str = typer.Option(
        "", "--languages", "-l", help="A pair under bli/ of the folders in MIRRORMASK_DATA, such as en-de."
    ),
    size: str = typer.Option("5k", "--size", help="Words of that pair to learn from: 500, 1k, 3k, 5k."),
    train: Path = typer.Option(None, "--train", help="A dictionary of your own to learn from: word, tab, translation."),
    test: Path = typer.Option(None, "--test", help="A dictionary of your own to be measured by."),
    mapping: str = typer.Option(
        "orthogonal", "--mapping", help="orthogonal: turn one space into the other; none: they are one already."
    ),
    resamples: int = typer.Option(1000, "--resamples", help="Bootstrap resamples behind every interval."),
    seed: int = typer.Option(42, "--seed", help="Of the resamples."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Measure bilingual lexicon induction: how often a word's translation is the nearest word of the other language.

    [bold]mirrormask lexicon english-model german-model --languages en-de[/bold]

    [bold]mirrormask lexicon one other --train my-train.tsv --test my-test.tsv[/bold]
    """
    from mirrormask.core.errors import MirrormaskError, one_of
    from mirrormask.data.tasks.bilingual import SIZES, find_dictionaries, read_dictionary
    from mirrormask.evaluation.statistics.bootstrap import check_resamples

    if bool(languages) == (train is not None and test is not None):
        raise MirrormaskError("Name the dictionaries by --languages en-de, or by --train FILE and --test FILE.")
    check_resamples(resamples, of="a lexicon")
    if languages:
        one_of("size", size, SIZES, of="a lexicon")
    learn, ask = find_dictionaries(languages, size) if languages else (read_dictionary(train), read_dictionary(test))
    from mirrormask.evaluation.lexicon import induce_lexicon
    from mirrormask.evaluation.statistics.comparison import METRICS
    from mirrormask.models.encoder import load

    output = Output(as_json=as_json, quiet=quiet)
    output.say(f"{len(ask):,} words are asked for.")
    found = induce_lexicon(
        load(source), load(target), ask, learn, mapping=mapping, name="words", resamples=resamples, seed=seed
    )

    def show() -> None:
        rows = []
        for metric in found.scores.metrics:
            score = found.scores.score(metric, 0)
            rows.append([METRICS[metric], f"{score.value:.1f}", f"{score.low:.1f} to {score.high:.1f}"])
        output.table("Translations found", ["score", "percent", "95 % interval"], rows)
        output.line(f"{len(ask):,} words, {found.candidates:,} candidates; chance is {100 / found.candidates:.2f}.")

    output.result({"source": source, "target": target, "mapping": mapping, **found.to_dict()}, show)
