"""Evaluate models: STS benchmarks, suites of other tasks, the user's own data and geometry.

One pass over the texts of each model serves all of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError, at_least
from mirrormask.data.tasks.retrieval_collection import SPLIT, find_collection, read_collection
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_SUITE
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.geometry import GeometryReport, measure_shape, pairs_for_shape
from mirrormask.evaluation.model_names import model_names
from mirrormask.evaluation.own.own_report import OwnReport, score_own
from mirrormask.evaluation.own.reading import read_own
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.ranked.retrieval_report import (
    RetrievalReport,
    check_collections,
    search_collection,
    with_words,
)
from mirrormask.evaluation.ranked.searchers import MAX_LENGTH, as_words, is_searcher, opened, searcher_of
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, check_resamples
from mirrormask.evaluation.sts import StsReport, load_tasks, score_tasks, sentences
from mirrormask.evaluation.suite_report import SuiteReport, load_suite, score_suite
from mirrormask.evaluation.suites import SuiteTask, suites
from mirrormask.evaluation.summary import (
    geometry_table,
    own_table,
    retrieval_tables,
    sts_tables,
    suite_tables,
    verdicts,
)
from mirrormask.evaluation.vectors import Progress, TextVectors
from mirrormask.reporting.page import save
from mirrormask.reporting.tables import Table, markdown

STS = "sts"
"""The suite that is measured where nothing else is asked for."""


@dataclass(frozen=True)
class EvaluationReport:
    """Everything that was measured, and three ways to hand it on: JSON, tables, and a page.

    Args:
        models: names of the models; differences are to the first.
        sts: the STS benchmarks, where they were asked for.
        own: the user's own data, where it was given.
        geometry: the shape of the vectors, where it was asked for.
        seed: behind all resamples.
        resamples: behind every interval.
        retrieval: collections with judged queries, where they were given; its models are these and BM25.
        suites: other suites of tasks, by name, where they were asked for.
    """

    models: tuple[str, ...]
    sts: StsReport | None
    own: OwnReport | None
    geometry: GeometryReport | None
    seed: int
    resamples: int
    retrieval: RetrievalReport | None = None
    suites: Mapping[str, SuiteReport] = field(default_factory=dict)

    def verdict(self) -> list[str]:
        """Return the answer in plain sentences."""
        return verdicts(self.models, self.sts, self.own, self.retrieval, tuple(self.suites.values()))

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; keys are stable, and scores are in percent where their key says so."""
        return {
            "schema": "mirrormask.evaluation/1",
            "version": __version__,
            "models": list(self.models),
            "verdict": self.verdict(),
            "sts": self.sts.to_dict() if self.sts else None,
            "own": self.own.to_dict() if self.own else None,
            "retrieval": self.retrieval.to_dict() if self.retrieval else None,
            "suites": {name: one.to_dict() for name, one in self.suites.items()},
            "geometry": self.geometry.to_dict() if self.geometry else None,
            "seed": self.seed,
            "resamples": self.resamples,
        }

    def tables(self) -> list[Table]:
        """Return the tables to print, as texts."""
        found = retrieval_tables(self.retrieval) if self.retrieval else []
        found += [own_table(self.own)] if self.own else []
        found += sts_tables(self.sts) if self.sts else []
        found += [table for one in self.suites.values() for table in suite_tables(one)]
        if self.geometry:
            found.append(geometry_table(self.geometry))
        return found

    def html(self) -> str:
        """Return a page with verdict, tables and figures that needs nothing but itself."""
        from mirrormask.evaluation.evaluation_page import evaluation_page

        models = self.retrieval.models if self.retrieval else self.models
        return evaluation_page(
            models,
            self.verdict(),
            self.sts,
            self.own,
            self.geometry,
            self.resamples,
            self.retrieval,
            tuple(self.suites.values()),
        )

    def markdown(self) -> str:
        """Return verdict and tables as Markdown."""
        tables = [f"**{table.title}**\n\n{markdown(table)}" for table in self.tables()]
        return "\n".join(["# Evaluation", "", *(f"{sentence}\n" for sentence in self.verdict()), *tables])

    def save(self, path: Path | str) -> None:
        """Write the page, or Markdown where the path ends so; the file is either whole or as it was before."""
        save(path, self.markdown() if Path(path).suffix == ".md" else self.html())

    def save_html(self, path: Path | str) -> None:
        """Write the page so that the file is either whole or as it was before."""
        save(path, self.html())


def evaluate(
    models: Sequence[Any],
    *,
    tasks: Sequence[str] | None = None,
    suite: str | Sequence[str] = (),
    data: Path | str | Sequence[Path | str] | None = None,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    split: str = SPLIT,
    max_length: int = MAX_LENGTH,
    geometry: bool = True,
    names: Sequence[str] | None = None,
    seed: int = 42,
    resamples: int = RESAMPLES,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measure one model, or several on the same data to see whether they really differ.

    Args:
        models: names or folders for `mirrormask.load`, or encoders; differences are to the first. On collections BM25
            is always among them: last, or where "bm25" stands.
        tasks: STS tasks; by default the seven of the SimCSE paper when neither `data` nor `suite` is given, none when
            one is. Also tasks of the suites asked for, of which all are measured where none is named.
        suite: other suites of tasks, such as "transfer"; "sts" asks for the seven STS tasks beside them.
        data: a file of the user's own: scored pairs, query–document pairs or labelled texts; and any number of
            collections with judged queries: folders, or names such as `retrieval/cranfield`.
        kind: which of these it is ("pairs", "retrieval", "labels"); by default what its columns say.
        columns: the column of each role in it, such as {"query": "headline", "document": "story"}.
        split: the judgements to read where a collection has several.
        max_length: tokens that an encoder reads of a collection's texts, where it would read more.
        geometry: also measure alignment, uniformity, anisotropy and singular values; not on collections.
        names: what to call the models.
        seed: decides resamples, folds and samples.
        resamples: bootstrap resamples behind every interval.
        progress: called as texts are encoded.

    Raises:
        MirrormaskError: nothing can be measured; the message says what to do.
    """
    if not models:
        raise MirrormaskError("An evaluation needs at least one model. Got none.")
    check_resamples(resamples, of="an evaluation")
    at_least("max_length", max_length, 8, of="an evaluation")
    called = list(names) if names is not None else model_names([as_words(model) for model in models])
    folders, file = _folders_and_file(data)
    collections = [read_collection(folder, split=split) for folder in folders]
    check_collections(collections)
    own = read_own(file, kind=kind, columns=columns) if file is not None else None
    wanted = [suite] if isinstance(suite, str) else list(suite)
    loaded, asked = _suites(wanted, list(tasks or ()))
    if tasks is None and (STS in wanted or not (data or wanted)):
        asked = list(STS_SUITE)
    found, skipped = load_tasks(asked)
    if not found and own is None and not collections and not any(one.found for one in loaded):
        missing = {**skipped, **{task: why for one in loaded for task, why in one.skipped.items()}}
        raise _nothing_found([*asked, *(task for one in loaded for task in one.skipped)], missing)
    vectors, places = [], []
    for model, name in zip(models, called, strict=True):
        ready = opened(model)
        more = [task for one in loaded for task in one.found]
        if own is not None or found or more:
            vectors.append(_encoded(ready, name, found, own, more, progress))
        options: dict[str, Any] = {"max_length": max_length, "name": name, "progress": progress}
        places.append([search_collection(one, searcher_of(ready, one, **options)) for one in collections])
        del ready  # before the next is loaded
    settings = {"resamples": resamples, "seed": seed}
    searched = with_words(collections, called, places, **settings) if collections else None
    sts = score_tasks(found, skipped, called, vectors, **settings) if found else None
    shape = None
    if geometry and (own is not None or found):
        task, on = (own, Path(own.source).name) if own is not None else pairs_for_shape(found)
        shape = measure_shape(task, on, called, vectors, seed=seed)
    scored = score_own(own, called, vectors, **settings) if own else None
    others = {
        one.name: score_suite(one.name, suites.build(one.name), one.found, one.skipped, called, vectors, **settings)
        for one in loaded
        if one.found
    }
    return EvaluationReport(tuple(called), sts, scored, shape, seed, resamples, searched, others)


@dataclass(frozen=True)
class _Loaded:
    """The tasks of a suite that were asked for: those whose data is there, and why the others are not."""

    name: str
    found: list[SuiteTask]
    skipped: dict[str, str]


def _suites(wanted: Sequence[str], tasks: list[str]) -> tuple[list[_Loaded], list[str]]:
    """Return the suites asked for, read, and the tasks that belong to none of them."""
    loaded = []
    for name in dict.fromkeys(wanted):
        if name == STS:
            continue
        suite = suites.build(name)
        loaded.append(_Loaded(name, *load_suite(name, suite, [task for task in tasks if task in suite.tasks])))
        tasks = [task for task in tasks if task not in suite.tasks]
    return loaded, tasks


def _folders_and_file(data: Path | str | Sequence[Path | str] | None) -> tuple[list[Path], Path | str | None]:
    """Return the collections and the one file among what is to be measured on."""
    given = [data] if isinstance(data, (str, Path)) else list(data or [])
    folders = [folder for each in given if (folder := find_collection(each)) is not None]
    files = [each for each in given if find_collection(each) is None]
    if len(files) > 1:
        raise MirrormaskError(
            f"An evaluation takes one file beside folders. Got {', '.join(map(str, files))}: measure them one by one, "
            "or make a folder with docs.jsonl, queries.jsonl and qrels.tsv of each."
        )
    return folders, files[0] if files else None


def _encoded(
    model: Any,
    name: str,
    tasks: Sequence[ScoredPairs],
    own: OwnTask | None,
    more: Sequence[SuiteTask],
    progress: Progress | None,
) -> TextVectors:
    """Encode everything that is measured by its vectors."""
    if is_searcher(model):
        raise MirrormaskError(
            f"{name} ranks documents and gives no vectors, so it is measured on collections only. Leave it out, or "
            "name only folders with --data."
        )
    roles: dict[str, Iterable[str]] = dict(own.roles()) if own else {}
    texts = itertools.chain(sentences(tasks), roles.pop("", ()), *(task.texts() for task in more))
    return TextVectors.encode(model, texts, roles=roles, name=name, progress=progress)


def _nothing_found(asked: Sequence[str], skipped: Mapping[str, str]) -> MirrormaskError:
    if not asked:
        return MirrormaskError("There is nothing to evaluate on. Name STS tasks with --task, or a file with --data.")
    first = next(iter(skipped.values()))
    return DatasetMissing(
        f"No data was found for {', '.join(asked)}. {first} Or evaluate on a file of your own with --data FILE."
    )
