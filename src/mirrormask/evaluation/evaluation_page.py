"""The page of an evaluation: verdict, tables, figures, and a sentence on how to read each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from mirrormask.evaluation.geometry import GeometryReport
from mirrormask.evaluation.own.own_report import OwnReport
from mirrormask.evaluation.ranked.retrieval_report import PRIMARY, RetrievalReport
from mirrormask.evaluation.score_figures import plane, score_bars, similarity_density, spectrum
from mirrormask.evaluation.statistics.comparison import METRICS
from mirrormask.evaluation.sts import StsReport
from mirrormask.evaluation.suite_report import SuiteReport
from mirrormask.evaluation.summary import (
    HEADLINE,
    collection_tables,
    geometry_table,
    own_table,
    query_tables,
    retrieval_tables,
    sts_tables,
    suite_tables,
)
from mirrormask.reporting.drawing import svg
from mirrormask.reporting.page import Picture, Section, render

_STARS = "An asterisk marks a difference that chance does not explain (p < 0.05)."
_MEANING = {
    "pairs": "Correlation of the cosines with the gold scores: 100 would be the same order.",
    "retrieval": (
        "Each query is compared with all documents. Recall@k is the share of its documents among the first k, MRR@10 "
        "rewards a first hit near the top, nDCG@10 all hits near the top."
    ),
    "collection": (
        "Each query ranks all documents, and people have judged which of them answer it. nDCG@10 rewards relevant "
        "documents near the top, the more relevant ones more; MRR@10 a first hit near the top; recall@100 is the share "
        "of the relevant documents among the first 100. BM25 goes by words alone."
    ),
    "labels": (
        "Each text is classified without itself: by a logistic regression trained on the other folds, and by its five "
        "nearest neighbors. Macro-F1 counts every class alike, however rare."
    ),
}


def evaluation_page(
    models: Sequence[str],
    verdict: Sequence[str],
    sts: StsReport | None,
    own: OwnReport | None,
    geometry: GeometryReport | None,
    resamples: int,
    retrieval: RetrievalReport | None = None,
    suites: Sequence[SuiteReport] = (),
) -> str:
    """Return the whole page of an evaluation."""
    sections = retrieval_sections(retrieval) if retrieval is not None else []
    if own is not None:
        sections.append(own_section(own))
    if sts is not None:
        sections += sts_sections(sts)
    sections += [suite_section(one) for one in suites]
    if geometry is not None:
        sections += geometry_sections(geometry)
    sections.append(_method(models, resamples))
    title = " and ".join(models) if len(models) < 3 else ", ".join(models)
    return render(f"Evaluation of {title}", sections, verdict=verdict, subtitle=date.today().isoformat())


def own_section(report: OwnReport) -> Section:
    """Return the user's own data: what is measured, the table, and bars with intervals."""
    found = report.comparison
    scores = {
        METRICS[metric]: [found.score(metric, model) for model in range(len(found.models))] for metric in found.metrics
    }
    drawn = score_bars(
        found.models, scores, title=f"Scores on {report.name}", emphasized=[METRICS[report.task.primary]]
    )
    text = (_MEANING[report.task.kind], *((_STARS,) if len(found.models) > 1 else ()))
    picture = Picture(svg(drawn), f"Bars of every score on {report.name}, with confidence intervals")
    return Section(f"Your data: {report.name}", text, (own_table(report), *query_tables(report)), (picture,))


def retrieval_sections(report: RetrievalReport) -> list[Section]:
    """Return the collections: tables and bars, then which queries were won and lost in each."""
    found = {name: one.comparison for name, one in report.collections.items()}
    shown = {**found, "mean": report.average} if len(found) > 1 else found
    if len(shown) > 1:
        scores = {name: [one.score(PRIMARY, m) for m in range(len(report.models))] for name, one in shown.items()}
    else:
        scores = {
            METRICS[metric]: [report.average.score(metric, model) for model in range(len(report.models))]
            for metric in report.average.metrics
        }
    title = f"{METRICS[PRIMARY]} on every collection" if len(shown) > 1 else f"Scores on {report.title}"
    drawn = score_bars(report.models, scores, title=title, emphasized=["mean", METRICS[PRIMARY]])
    picture = Picture(svg(drawn), f"Bars: {title}, with confidence intervals")
    text = (_MEANING["collection"], _STARS)
    sections = [Section("Retrieval", text, tuple(retrieval_tables(report)), (picture,))]
    for name, one in report.collections.items():
        sections.append(Section(f"Queries of {name}, won and lost", (), tuple(collection_tables(one))))
    return sections


def sts_sections(report: StsReport) -> list[Section]:
    """Return the STS benchmarks: the headline table with bars, then every aggregation."""
    scores = {
        title: [found.score(HEADLINE, model) for model in range(len(report.models))]
        for title, found in report.named.items()
    }
    text = (
        "Spearman's correlation says how well the cosines of sentence pairs follow the order people gave them; 100 "
        "would be the same order.",
        *((_STARS,) if len(report.models) > 1 else ()),
    )
    drawn = score_bars(report.models, scores, title="Spearman correlation on STS (all)", emphasized=["average"])
    picture = Picture(svg(drawn), "Bars of the Spearman correlation on every STS task, with confidence intervals")
    headline, *aggregations = sts_tables(report)
    reading = (
        "Papers add up the subsets of a task in three ways: 'all' is one correlation over all pairs together, as most "
        "since 2021 report it; 'mean' and 'wmean' average the subsets' correlations, plainly or by size. Compare a "
        "number only with numbers of its own kind.",
    )
    return [
        Section("Semantic textual similarity", text, (headline,), (picture,)),
        Section("The three ways to add up subsets", reading, tuple(aggregations)),
    ]


def suite_section(report: SuiteReport) -> Section:
    """Return a suite of other tasks: what is measured, the tables, and bars with intervals."""
    metric = report.suite.primary
    scores = {
        title: [found.score(metric, model) for model in range(len(report.models))]
        for title, found in report.named.items()
    }
    title = f"{report.suite.title}: {METRICS[metric]} on every task"
    drawn = score_bars(report.models, scores, title=title, emphasized=["average"])
    text = (report.suite.meaning, *((_STARS,) if len(report.models) > 1 else ()))
    picture = Picture(svg(drawn), f"Bars: {title}, with confidence intervals")
    return Section(report.suite.title, text, tuple(suite_tables(report)), (picture,))


def geometry_sections(report: GeometryReport) -> list[Section]:
    """Return the shape of the vectors: table, density, plane and spectrum, each with how to read it."""
    aligned = all(found.alignment is not None for found in report.measured)
    planes = (
        (Picture(svg(plane(report.models, report.measured)), "Models by alignment and uniformity"),) if aligned else ()
    )
    text = (
        "Alignment is the mean squared distance of pairs that mean the same, uniformity the log of the mean Gaussian "
        "potential of all pairs, anisotropy the mean cosine of two different texts. A good encoder is low in all "
        "three: it keeps what belongs together close and everything else spread out.",
    )
    sections = [Section("Geometry", text, (geometry_table(report),), planes)]
    if report.similarities is not None and report.scores is not None:
        drawn = similarity_density(report.models, report.similarities, report.scores, report.scale)
        reading = (
            f"Pairs of {report.on} in five groups by gold score; each curve is the density of their cosines, the white "
            "line their median. A good encoder's curves step to the right from bottom to top, with little overlap.",
        )
        picture = Picture(svg(drawn), "Density of cosines for five groups of gold scores, per model")
        sections.append(Section("Cosines by gold score", reading, figures=(picture,)))
    reading = (
        "Singular values of the unit vectors, not centered, divided by the largest. A curve that drops at once belongs "
        "to vectors that share one direction; a flat curve uses many. The effective rank counts how many.",
    )
    picture = Picture(svg(spectrum(report.models, report.measured)), "Singular values of each model on a log scale")
    sections.append(Section("Singular values", reading, figures=(picture,)))
    return sections


def _method(models: Sequence[str], resamples: int) -> Section:
    text = [
        f"Intervals are the middle 95 % of {resamples:,} bootstrap resamples of the pairs, queries or texts; they say "
        "how far a score would move on other data of the same kind, not what another training seed would give."
    ]
    if len(models) > 1:
        text.append(
            "Differences are taken on the same resamples for both models, and p is two-sided and corrected by Holm for "
            "the number of pairs of models. With many tasks some difference will look real by chance: judge by the "
            "average. A pair of sentences that stands in several tasks is drawn for all of them at once."
        )
    return Section("How the numbers were made", tuple(text))
