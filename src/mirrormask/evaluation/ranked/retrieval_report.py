"""What several models find in collections with judged queries, side by side and with BM25 always among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.seeding import derive
from mirrormask.data.tasks.retrieval_collection import Collection
from mirrormask.evaluation.own.task import MIN_UNITS
from mirrormask.evaluation.ranked.ranking import DEPTH, Places, places_of
from mirrormask.evaluation.ranked.ranking_measures import ranking_scores
from mirrormask.evaluation.ranked.searchers import BM25, Searcher, WordSearcher
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import Comparison, averaged, compare
from mirrormask.evaluation.statistics.resamples import Rows, Statistic, mean_of, on_rows

PRIMARY = "ndcg_at_10_percent"
MEASURED = (PRIMARY, "mrr_at_10_percent", "recall_at_100_percent")
RECALL_AT = 100


@dataclass(frozen=True)
class CollectionScores:
    """One collection under every model.

    Args:
        collection: what was searched.
        comparison: nDCG@10, MRR@10 and recall@100 with intervals and differences.
        places: the place of each query's first relevant document under each model (models, n).
    """

    collection: Collection
    comparison: Comparison
    places: NDArray[np.int64] = field(repr=False)


@dataclass(frozen=True)
class RetrievalReport:
    """What models found in one collection or several, and the mean over them.

    Args:
        models: names of the models; differences are to the first.
        collections: by name, in the order asked.
        average: the mean over the collections, each counting alike.
    """

    models: tuple[str, ...]
    collections: Mapping[str, CollectionScores]
    average: Comparison

    @property
    def title(self) -> str:
        """Return what the verdict is about."""
        names = ", ".join(self.collections)
        return names if len(self.collections) == 1 else f"the mean over {names}"

    def verdicts(self) -> list[str]:
        """Return which model finds best, and how every two differ."""
        return self.average.verdicts(PRIMARY, self.title)

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; every metric is in percent as the keys say."""
        found = {
            name: {
                "folder": one.collection.source,
                "queries": len(one.collection.queries),
                "documents": len(one.collection.documents),
                "notes": list(one.collection.notes),
                **one.comparison.to_dict(),
            }
            for name, one in self.collections.items()
        }
        average = {"over": list(self.collections), **self.average.to_dict()}
        return {"models": list(self.models), "primary": PRIMARY, "collections": found, "average": average}


def search_collection(collection: Collection, searcher: Searcher) -> Places:
    """Return where a searcher puts the relevant documents of every query; its scores decide, and ids where they tie."""
    return places_of(searcher.search(collection.queries, DEPTH), collection.relevant)


def check_collections(collections: Sequence[Collection]) -> None:
    """Raise a DataError where a collection has too few queries to say anything, or two have one name."""
    for one in collections:
        if len(one.queries) < MIN_UNITS:
            raise DataError(
                f"{one.source} has {len(one.queries)} queries with a relevant document, and at least {MIN_UNITS} are "
                "needed. Judge more."
            )
    names = [one.name for one in collections]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"Two collections are called {twice!r}. Name each once, or rename a folder.")


def with_words(
    collections: Sequence[Collection], models: Sequence[str], places: Sequence[Sequence[Places]], **settings: int
) -> RetrievalReport:
    """Measure what every model found, and what BM25 finds where it is not among them."""
    if BM25 in models:
        return score_collections(collections, models, places, **settings)
    words = [search_collection(one, WordSearcher(one)) for one in collections]
    return score_collections(collections, [*models, BM25], [*places, words], **settings)


def score_collections(
    collections: Sequence[Collection],
    models: Sequence[str],
    places: Sequence[Sequence[Places]],
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> RetrievalReport:
    """Measure what every model found.

    All collections are resampled together, each keeping its number of queries.

    Args:
        collections: what was searched.
        models: names.
        places: for each model one per collection.
        resamples: behind every interval.
        seed: decides the resamples.
    """
    ends = np.cumsum([len(one.queries) for one in collections])
    strata = np.split(np.arange(ends[-1]), ends[:-1])
    metrics: dict[str, list[Statistic]] = {}
    for number, (one, rows) in enumerate(zip(collections, strata, strict=True)):
        drawn = Rows(rows)
        scored = [ranking_scores(of[number], [RECALL_AT]) for of in places]
        for metric in MEASURED:
            metrics[f"{one.name} {metric}"] = [on_rows(drawn, mean_of(found[metric])) for found in scored]
    units = int(ends[-1])
    measured = compare(models, metrics, units, resamples=resamples, seed=derive(seed, "retrieval"), strata=strata)
    found = {
        one.name: CollectionScores(one, _part(measured, one), np.stack([of[number].best() for of in places]))
        for number, one in enumerate(collections)
    }
    return RetrievalReport(tuple(models), found, averaged([one.comparison for one in found.values()], units))


def _part(measured: Comparison, one: Collection) -> Comparison:
    values, drawn = (
        {metric: of[f"{one.name} {metric}"] for metric in MEASURED} for of in (measured.values, measured.resamples)
    )
    return Comparison(measured.models, len(one.queries), values, drawn)
