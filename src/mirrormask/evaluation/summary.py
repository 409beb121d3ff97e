"""What an evaluation found, as tables for the terminal and the report alike, and as plain sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.evaluation.geometry import GeometryReport
from mirrormask.evaluation.own.own_report import OwnReport
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.ranked.ranking import DEPTH, MISSED
from mirrormask.evaluation.ranked.retrieval_report import PRIMARY, CollectionScores, RetrievalReport
from mirrormask.evaluation.statistics.bootstrap import Difference, Estimate
from mirrormask.evaluation.statistics.comparison import METRICS, Comparison
from mirrormask.evaluation.sts import StsReport
from mirrormask.evaluation.suite_report import SuiteReport
from mirrormask.reporting.drawing import short
from mirrormask.reporting.tables import Table, minus

MISSING = "–"
CHANGED = 10
"""Queries shown that a model finds better than another, and as many that it finds worse."""

HEADLINE = "spearman_all_percent"
"""The score that papers compare."""


def sts_tables(report: StsReport) -> list[Table]:
    """Return the headline scores of all models, then every aggregation for each model."""
    return [_headline(report), *(_aggregations(report, model) for model in range(len(report.models)))]


def suite_tables(report: SuiteReport) -> list[Table]:
    """Return the metric a suite is about on every task and on average, and further metrics where tasks have them."""
    primary, unit = report.suite.primary, report.suite.unit
    rows = [(title, f"{found.units:,}", *_cells(found, primary)) for title, found in report.named.items()]
    several = len(report.tasks) > 1
    notes = [*(["every task counts alike in the average"] if several else []), *_against(report.models)]
    if report.skipped:
        notes.append(f"skipped, because their data was not found: {', '.join(report.skipped_titles)}")
    notes += [f"{task.title}: {task.note}" for task in report.tasks if task.note]
    headline = Table(
        title=f"{report.suite.title}: {METRICS[primary]}, percent (95 % confidence interval)",
        columns=("task", unit, *_columns(report.models)),
        rows=tuple(rows),
        emphasized=(len(rows) - 1,) if several else (),
        note=_sentence(notes),
    )
    return [
        headline,
        *(_more_metrics(report, task.name, task.title) for task in report.tasks if _more(report, task.name)),
    ]


def _more(report: SuiteReport, task: str) -> list[str]:
    return [metric for metric in report.scores[task].metrics if metric != report.suite.primary]


def _more_metrics(report: SuiteReport, task: str, title: str) -> Table:
    return Table(
        title=f"{title}: further measures, percent (95 % confidence interval)",
        columns=("metric", *_columns(report.models)),
        rows=tuple((METRICS[metric], *_cells(report.scores[task], metric)) for metric in _more(report, task)),
    )


def own_table(report: OwnReport) -> Table:
    """Return every metric of the user's own data, with intervals and differences."""
    title = f"{report.name}: {report.task.units:,} {report.task.unit}"
    return _scores_table(title, report.comparison, report.task.primary, report.task.notes)


def retrieval_tables(report: RetrievalReport) -> list[Table]:
    """Return every metric of a single collection, or for several one table of all of them for each metric."""
    if len(report.collections) == 1:
        ((name, one),) = report.collections.items()
        return [
            _scores_table(f"{name}: {one.comparison.units:,} queries", one.comparison, PRIMARY, one.collection.notes)
        ]
    tables = []
    for metric in report.average.metrics:
        rows = [
            (name, f"{one.comparison.units:,}", *_cells(one.comparison, metric))
            for name, one in report.collections.items()
        ]
        notes = [f"{name}: {'; '.join(one.collection.notes)}" for name, one in report.collections.items()]
        table = Table(
            title=f"Retrieval: {METRICS[metric]}, percent (95 % confidence interval)",
            columns=("collection", "queries", *_columns(report.models)),
            rows=(*rows, ("mean", f"{report.average.units:,}", *_cells(report.average, metric))),
            emphasized=(len(rows),),
            note=_sentence(["every collection counts alike in the mean", *_against(report.models), *notes])
            if metric == PRIMARY
            else "",
        )
        tables.append(table)
    return tables


def _scores_table(title: str, found: Comparison, primary: str, notes: Sequence[str]) -> Table:
    return Table(
        title=f"{title}, percent (95 % confidence interval)",
        columns=("metric", *_columns(found.models)),
        rows=tuple((METRICS[metric], *_cells(found, metric)) for metric in found.metrics),
        emphasized=(found.metrics.index(primary),),
        note=_sentence([*notes, *_against(found.models)]),
    )


def query_tables(report: OwnReport) -> list[Table]:
    """Return for every later model the queries of the user's file that it finds better and worse than the first."""
    if report.places is None or not isinstance(report.task, QueryDocuments):
        return []
    document = dict(zip(*report.task.relevant[::-1].T.tolist(), strict=True))  # the first one of each query
    right = [report.task.documents[document[row]] for row in range(report.task.units)]
    return _changed(report.models, report.places, report.task.queries, dict(enumerate(right)))


def collection_tables(one: CollectionScores) -> list[Table]:
    """Return for every later model the queries of a collection that it finds better and worse than the first."""
    first = [next(iter(found)) for found in one.collection.relevant]
    texts = one.collection.texts_of(first)
    right = {row: texts.get(document, document) for row, document in enumerate(first)}
    return _changed(one.comparison.models, one.places, one.collection.queries, right)


def _changed(
    models: Sequence[str], places: NDArray[np.int64], queries: Sequence[str], right: Mapping[int, str]
) -> list[Table]:
    """Return for every later model the queries it finds better and worse than the first, the largest changes first.

    A change counts by how many times nearer the right document has come: from 40 to 1 is more than from 900 to 700.

    Args:
        models: names.
        places: of each query's first right document (models, n).
        queries: texts.
        right: for each query a document that answers it.
    """
    tables = []
    for name, later in zip(models[1:], places[1:], strict=True):
        gain = np.log(places[0]) - np.log(later)
        order = np.argsort(-gain, kind="stable")
        won, lost = order[gain[order] > 0], order[::-1][gain[order[::-1]] < 0]
        rows = tuple(
            (
                _cut(queries[row]),
                _cut(right[row]),
                _place(places[0][row]),
                _place(later[row]),
                "won" if gain[row] > 0 else "lost",
            )
            for row in [*won[:CHANGED].tolist(), *lost[:CHANGED].tolist()]
        )
        counts = f"{len(won):,} queries won, {len(lost):,} lost, {len(queries) - len(won) - len(lost):,} unchanged"
        table = Table(
            title=f"{name} against {models[0]}: {counts}",
            columns=("query", "right document", models[0], name, ""),
            rows=rows,
            note="The place of the first right document, 1 being the top; the largest changes, won and lost.",
            texts=(1, 4),
        )
        tables.append(table)
    return tables


def _place(rank: int) -> str:
    return f"over {DEPTH:,}" if rank >= MISSED else f"{rank:,}"


def _cut(text: str) -> str:
    return short(" ".join(text.split()), 70)


def geometry_table(report: GeometryReport) -> Table:
    """Return alignment, uniformity, anisotropy and effective rank, one model a row."""
    rows = [
        (
            model,
            MISSING if found.alignment is None else f"{found.alignment:.3f}",
            minus(f"{found.uniformity:.2f}"),
            minus(f"{found.anisotropy:.3f}"),
            f"{found.effective_rank:.0f} of {len(found.spectrum)}",
        )
        for model, found in zip(report.models, report.measured, strict=True)
    ]
    first = report.measured[0]
    over = f"Alignment is over {first.positives:,} positives: {report.positives}. " if first.positives else ""
    return Table(
        title=f"Geometry of {first.texts:,} texts of {report.on}",
        columns=("model", "alignment ↓", "uniformity ↓", "anisotropy ↓", "effective rank ↑"),
        rows=tuple(rows),
        note=f"{over}Vectors have length 1; arrows point to what is better.",
    )


def interval(found: Estimate) -> str:
    """Return a score with its interval, such as '72.4 (70.1–74.6)'."""
    return minus(f"{found.value:.1f} ({found.low:.1f}–{found.high:.1f})")


def _headline(report: StsReport) -> Table:
    rows = [(one.title, f"{len(one.task):,}", *_cells(one.comparison, HEADLINE)) for one in report.tasks.values()]
    several = len(rows) > 1  # one task is its own average
    average = [("average", f"{report.average.units:,}", *_cells(report.average, HEADLINE))] if several else []
    titles = ", ".join(one.title for one in report.tasks.values())
    over = f"The average is over {titles}, and its pairs are different ones"
    notes = [*([over] if several else []), *_against(report.models)]
    if report.skipped:
        notes.append(f"skipped, because their data was not found: {', '.join(report.skipped_titles)}")
    notes += [f"{one.title}: {one.task.note}" for one in report.tasks.values() if one.task.note]
    return Table(
        title="STS: Spearman correlation, all subsets together, percent (95 % confidence interval)",
        columns=("task", "pairs", *_columns(report.models)),
        rows=(*rows, *average),
        emphasized=(len(rows),) if several else (),
        note=_sentence(notes),
    )


def _aggregations(report: StsReport, model: int) -> Table:
    metrics = [metric for metric in METRICS if metric.split("_")[1] in ("all", "mean", "wmean")]
    named = report.named
    rows = tuple(
        (
            title,
            *(f"{100 * found.values[metric][model]:.1f}" if metric in found.values else MISSING for metric in metrics),
        )
        for title, found in named.items()
    )
    return Table(
        title=f"{report.models[model]}: correlations, percent",
        columns=("task", *(METRICS[metric] for metric in metrics)),
        rows=rows,
        emphasized=(len(rows) - 1,) if len(rows) > 1 else (),
    )


def _columns(models: Sequence[str]) -> list[str]:
    if len(models) == 2:
        return [*models, "difference", "p"]
    return [models[0], *(name for model in models[1:] for name in (model, "difference"))]


def _cells(found: Comparison, metric: str) -> list[str]:
    scores = [interval(found.score(metric, model)) for model in range(len(found.models))]
    differences = [found.difference(metric, model) for model in range(1, len(found.models))]
    if len(differences) == 1:
        return [*scores, _change(differences[0]), differences[0].p.removeprefix("p = ").removeprefix("p ")]
    pairs = zip(scores[1:], map(_change, differences), strict=True)
    return [scores[0], *(cell for pair in pairs for cell in pair)]


def _change(found: Difference) -> str:
    """Return a difference with its interval, starred where it is real."""
    star = " *" if found.real else ""
    return minus(f"{found.value:+.1f} ({found.low:+.1f} to {found.high:+.1f}){star}")


def _against(models: Sequence[str]) -> list[str]:
    if len(models) < 3:
        return []
    return [f"differences are to {models[0]}", "an asterisk is corrected for the number of pairs of models"]


def _sentence(notes: Sequence[str]) -> str:
    text = "; ".join(notes)
    return f"{text[:1].upper()}{text[1:]}." if notes else ""


def verdicts(
    models: Sequence[str],
    sts: StsReport | None,
    own: OwnReport | None,
    retrieval: RetrievalReport | None = None,
    suites: Sequence[SuiteReport] = (),
) -> list[str]:
    """Return what a model scored, or of several how every two differ and which is the best."""
    found = retrieval.verdicts() if retrieval is not None else []
    if own is not None:
        found += own.verdicts() if len(models) > 1 else [_score(own.comparison, own.task.primary, f"on {own.name}")]
    if sts is not None:
        on = sts.average_title if len(sts.tasks) == 1 else f"STS, {sts.average_title}"
        if len(models) > 1:
            found += sts.average.verdicts(HEADLINE, on)
        else:
            found.append(_score(sts.average, HEADLINE, f"on {on}"))
        if sts.skipped:
            found.append(_not_measured(sts.skipped_titles))
    for one in suites:
        metric = one.suite.primary
        found += (
            one.average.verdicts(metric, one.on) if len(models) > 1 else [_score(one.average, metric, f"on {one.on}")]
        )
        if one.skipped:
            found.append(_not_measured(one.skipped_titles))
    return found


def _not_measured(titles: Sequence[str]) -> str:
    return f"Not measured, because their data was not found: {', '.join(titles)}."


def _score(found: Comparison, metric: str, where: str) -> str:
    score = found.score(metric, 0)
    return (
        f"{found.models[0]} scores {score.value:.1f} ({100 * score.confidence:g} % CI {score.low:.1f} to "
        f"{score.high:.1f}) in {METRICS[metric]} {where}."
    )
