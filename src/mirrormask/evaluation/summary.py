"""What an evaluation found, as tables for the terminal and the report alike, and as plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from mirrormask.evaluation.geometry import GeometryReport
from mirrormask.evaluation.own.report import OwnReport
from mirrormask.evaluation.statistics.bootstrap import Difference, Estimate
from mirrormask.evaluation.statistics.comparison import METRICS, Comparison
from mirrormask.evaluation.sts import StsReport
from mirrormask.reporting.tables import Table, minus

MISSING = "–"
HEADLINE = "spearman_all_percent"
"""The score that papers compare."""


def sts_tables(report: StsReport) -> list[Table]:
    """Return the headline scores of all models, then every aggregation for each model."""
    return [_headline(report), *(_aggregations(report, model) for model in range(len(report.models)))]


def own_table(report: OwnReport) -> Table:
    """Return every metric of the user's own data, with intervals and differences."""
    found = report.comparison
    rows = [(METRICS[metric], *_cells(found, metric)) for metric in found.metrics]
    return Table(
        title=f"{report.name}: {report.task.units:,} {report.task.unit}, percent (95 % confidence interval)",
        columns=("metric", *_columns(found.models)),
        rows=tuple(rows),
        emphasized=(found.metrics.index(report.task.primary),),
        note=_sentence([*report.task.notes, *_against(found.models)]),
    )


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
    average = ("average", f"{report.average.units:,}", *_cells(report.average, HEADLINE))
    notes = [f"The average is over {', '.join(one.title for one in report.tasks.values())}", *_against(report.models)]
    if report.skipped:
        notes.append(f"skipped, because their data was not found: {', '.join(report.skipped_titles)}")
    notes += [f"{one.title}: {one.task.note}" for one in report.tasks.values() if one.task.note]
    return Table(
        title="STS: Spearman correlation, all subsets together, percent (95 % confidence interval)",
        columns=("task", "pairs", *_columns(report.models)),
        rows=(*rows, average),
        emphasized=(len(rows),),
        note=_sentence(notes),
    )


def _aggregations(report: StsReport, model: int) -> Table:
    metrics = [metric for metric in METRICS if metric.split("_")[1] in ("all", "mean", "wmean")]
    named = {**{one.title: one.comparison for one in report.tasks.values()}, "average": report.average}
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
        emphasized=(len(rows) - 1,),
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
    return [f"differences are to {models[0]}"] if len(models) > 2 else []


def _sentence(notes: Sequence[str]) -> str:
    text = "; ".join(notes)
    return f"{text[:1].upper()}{text[1:]}." if notes else ""


def verdicts(models: Sequence[str], sts: StsReport | None, own: OwnReport | None) -> list[str]:
    """Return what each model scored, or for several how the later ones differ from the first."""
    found: list[str] = []
    if own is not None:
        found += own.verdicts() if len(models) > 1 else [_score(own.comparison, own.task.primary, f"on {own.name}")]
    if sts is not None:
        if len(models) > 1:
            found += sts.average.verdicts(HEADLINE, f"STS, {sts.average_title}")
        else:
            found.append(_score(sts.average, HEADLINE, f"on STS, {sts.average_title}"))
        if sts.skipped:
            found.append(f"Not measured, because their data was not found: {', '.join(sts.skipped_titles)}.")
    return found


def _score(found: Comparison, metric: str, where: str) -> str:
    score = found.score(metric, 0)
    return (
        f"{found.models[0]} scores {score.value:.1f} ({100 * score.confidence:g} % CI {score.low:.1f} to "
        f"{score.high:.1f}) in {METRICS[metric]} {where}."
    )
