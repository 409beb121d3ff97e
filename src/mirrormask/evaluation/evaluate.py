"""Evaluate models: STS benchmarks, the user's own data and geometry, in one pass over the texts of each model."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mirrormask import __version__
from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_SUITE
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.geometry import GeometryReport, measure_shape, pairs_for_shape
from mirrormask.evaluation.model_names import model_names
from mirrormask.evaluation.own.own_report import OwnReport, score_own
from mirrormask.evaluation.own.reading import read_own
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, check_resamples
from mirrormask.evaluation.sts import StsReport, load_tasks, score_tasks, sentences
from mirrormask.evaluation.summary import geometry_table, own_table, sts_tables, verdicts
from mirrormask.evaluation.vectors import Progress, TextVectors
from mirrormask.reporting.page import save
from mirrormask.reporting.tables import Table


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
    """

    models: tuple[str, ...]
    sts: StsReport | None
    own: OwnReport | None
    geometry: GeometryReport | None
    seed: int
    resamples: int

    def verdict(self) -> list[str]:
        """Return the answer in plain sentences."""
        return verdicts(self.models, self.sts, self.own)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; keys are stable, and scores are in percent where their key says so."""
        return {
            "schema": "mirrormask.evaluation/1",
            "version": __version__,
            "models": list(self.models),
            "verdict": self.verdict(),
            "sts": self.sts.to_dict() if self.sts else None,
            "own": self.own.to_dict() if self.own else None,
            "geometry": self.geometry.to_dict() if self.geometry else None,
            "seed": self.seed,
            "resamples": self.resamples,
        }

    def tables(self) -> list[Table]:
        """Return the tables to print, as texts."""
        found = [own_table(self.own)] if self.own else []
        found += sts_tables(self.sts) if self.sts else []
        if self.geometry:
            found.append(geometry_table(self.geometry))
        return found

    def html(self) -> str:
        """Return a page with verdict, tables and figures that needs nothing but itself."""
        from mirrormask.evaluation.evaluation_page import evaluation_page

        return evaluation_page(self.models, self.verdict(), self.sts, self.own, self.geometry, self.resamples)

    def save_html(self, path: Path | str) -> None:
        """Write the page so that the file is either whole or as it was before."""
        save(path, self.html())


def evaluate(
    models: Sequence[Any],
    *,
    tasks: Sequence[str] | None = None,
    data: Path | str | None = None,
    kind: str | None = None,
    columns: Mapping[str, str] | None = None,
    geometry: bool = True,
    names: Sequence[str] | None = None,
    seed: int = 42,
    resamples: int = RESAMPLES,
    progress: Progress | None = None,
) -> EvaluationReport:
    """Measure one model, or several on the same data to see whether they really differ.

    Args:
        models: names or folders for `mirrormask.load`, or encoders; differences are to the first.
        tasks: STS tasks; by default the seven of the SimCSE paper when no `data` is given, none when it is.
        data: a file of the user's own: scored pairs, query–document pairs or labelled texts.
        kind: which of these it is ("pairs", "retrieval", "labels"); by default what its columns say.
        columns: the column of each role in it, such as {"query": "headline", "document": "story"}.
        geometry: also measure alignment, uniformity, anisotropy and singular values.
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
    called = list(names) if names is not None else model_names(models)
    own = read_own(data, kind=kind, columns=columns) if data is not None else None
    asked = list(tasks) if tasks is not None else [] if own else list(STS_SUITE)
    found, skipped = load_tasks(asked)
    if not found and own is None:
        raise _nothing_found(asked, skipped)
    vectors = [_encoded(model, name, found, own, progress) for model, name in zip(models, called, strict=True)]
    settings = {"resamples": resamples, "seed": seed}
    sts = score_tasks(found, skipped, called, vectors, **settings) if found else None
    shape = None
    if geometry:
        task, on = (own, Path(own.source).name) if own is not None else pairs_for_shape(found)
        shape = measure_shape(task, on, called, vectors, seed=seed)
    scored = score_own(own, called, vectors, **settings) if own else None
    return EvaluationReport(tuple(called), sts, scored, shape, seed, resamples)


def _encoded(
    model: Any, name: str, tasks: Sequence[ScoredPairs], own: OwnTask | None, progress: Progress | None
) -> TextVectors:
    """Load one model, encode everything, and let it go before the next is loaded."""
    roles: dict[str, Iterable[str]] = dict(own.roles()) if own else {}
    texts = itertools.chain(sentences(tasks), roles.pop("", ()))
    if isinstance(model, (str, Path)):
        from mirrormask.models.encoder import load

        model = load(model)
    return TextVectors.encode(model, texts, roles=roles, name=name, progress=progress)


def _nothing_found(asked: Sequence[str], skipped: Mapping[str, str]) -> MirrormaskError:
    if not asked:
        return MirrormaskError("There is nothing to evaluate on. Name STS tasks with --task, or a file with --data.")
    first = next(iter(skipped.values()))
    return DatasetMissing(
        f"No data was found for {', '.join(asked)}. {first} Or evaluate on a file of your own with --data FILE."
    )
