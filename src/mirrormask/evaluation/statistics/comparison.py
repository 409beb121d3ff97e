"""Several models on the same units: each score with its interval, and each difference with its verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.evaluation.statistics.bootstrap import (
    RESAMPLES,
    Difference,
    Estimate,
    difference,
    estimate,
    on_all,
    resampled,
)
from mirrormask.evaluation.statistics.resamples import Statistic

METRICS = {
    "spearman_all_percent": "Spearman (all)",
    "spearman_mean_percent": "Spearman (mean)",
    "spearman_wmean_percent": "Spearman (wmean)",
    "pearson_all_percent": "Pearson (all)",
    "pearson_mean_percent": "Pearson (mean)",
    "pearson_wmean_percent": "Pearson (wmean)",
    "spearman_percent": "Spearman",
    "pearson_percent": "Pearson",
    "recall_at_1_percent": "recall@1",
    "recall_at_5_percent": "recall@5",
    "recall_at_10_percent": "recall@10",
    "mrr_at_10_percent": "MRR@10",
    "ndcg_at_10_percent": "nDCG@10",
    "knn_accuracy_percent": "kNN accuracy",
    "knn_macro_f1_percent": "kNN macro-F1",
    "linear_accuracy_percent": "linear accuracy",
    "linear_macro_f1_percent": "linear macro-F1",
}
"""The keys of all scores, every one in percent (0 to 100), and what people call them."""


@dataclass(frozen=True)
class Comparison:
    """What each model scored on the same units, and how every later model differs from the first.

    Args:
        models: names of the models, the first being the one the others are held against.
        units: number of pairs, queries or texts.
        values: for each metric the models' scores as fractions (models,).
        resamples: for each metric the same on resamples of the units (models, r).
    """

    models: tuple[str, ...]
    units: int
    values: Mapping[str, NDArray[np.float64]]
    resamples: Mapping[str, NDArray[np.float64]] = field(repr=False)

    @property
    def metrics(self) -> list[str]:
        """Return the keys of the metrics, in order."""
        return list(self.values)

    def ordered(self, metrics: Iterable[str]) -> Comparison:
        """Return the same with its metrics in the given order; those it does not have are passed over."""
        kept = [metric for metric in metrics if metric in self.values]
        values, drawn = ({metric: of[metric] for metric in kept} for of in (self.values, self.resamples))
        return Comparison(self.models, self.units, values, drawn)

    def score(self, metric: str, model: int) -> Estimate:
        """Return one model's score in percent, with its interval."""
        return estimate(float(self.values[metric][model]), self.resamples[metric][model])

    def difference(self, metric: str, model: int) -> Difference:
        """Return how much better a model is than the first, in percent points."""
        values, drawn = self.values[metric], self.resamples[metric]
        return difference(float(values[0]), float(values[model]), drawn[0], drawn[model])

    def verdicts(self, metric: str, on: str = "") -> list[str]:
        """Return one sentence for every model after the first."""
        what = METRICS[metric] + (f" on {on}" if on else "")
        return [
            self.difference(metric, model).sentence(self.models[0], self.models[model], what)
            for model in range(1, len(self.models))
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return scores and differences, JSON-able, keyed by model and metric."""
        scores = {
            name: {metric: self.score(metric, model).to_dict() for metric in self.metrics}
            for model, name in enumerate(self.models)
        }
        differences = {
            name: {metric: self.difference(metric, model).to_dict() for metric in self.metrics}
            for model, name in enumerate(self.models)
            if model > 0
        }
        return {"scores": scores, "differences_to_first": differences}


def compare(
    models: Sequence[str],
    metrics: Mapping[str, Sequence[Statistic]],
    units: int,
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
    strata: Sequence[NDArray[np.int64]] | None = None,
) -> Comparison:
    """Score every model on the units and on the same resamples of them.

    Args:
        models: names of the models.
        metrics: for each metric one statistic per model.
        units: number of pairs, queries or texts.
        resamples: how many times to resample them.
        seed: decides the resamples.
        strata: groups of units that keep their size in every resample.
    """
    flat = [statistic for group in metrics.values() for statistic in group]
    drawn = resampled(flat, units, resamples=resamples, seed=seed, strata=strata)
    drawn = drawn.reshape(len(metrics), len(models), resamples)
    values = {metric: np.array([on_all(one, units) for one in group]) for metric, group in metrics.items()}
    return Comparison(tuple(models), units, values, dict(zip(metrics, drawn, strict=True)))


def with_means(comparison: Comparison, means: Mapping[str, Mapping[str, float]], *, keep: Sequence[str]) -> Comparison:
    """Return the metrics in `keep` and weighted means of others, on the data and on every resample.

    Args:
        comparison: what was measured.
        means: for each new metric the metrics it is the mean of, with their weights.
        keep: the old metrics to carry over.
    """

    def mean(of: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float]) -> NDArray[np.float64]:
        return np.average([of[metric] for metric in weights], axis=0, weights=list(weights.values()))

    values, drawn = comparison.values, comparison.resamples
    return Comparison(
        comparison.models,
        comparison.units,
        {name: values[name] for name in keep} | {name: mean(values, weights) for name, weights in means.items()},
        {name: drawn[name] for name in keep} | {name: mean(drawn, weights) for name, weights in means.items()},
    )


def averaged(comparisons: Sequence[Comparison]) -> Comparison:
    """Return the mean over several sets of units, for the metrics that all of them have.

    The sets are resampled independently of one another, so pairs that two tasks share count as two.
    """
    first = comparisons[0]
    shared = [metric for metric in first.metrics if all(metric in one.values for one in comparisons)]
    return Comparison(
        first.models,
        sum(one.units for one in comparisons),
        {metric: np.mean([one.values[metric] for one in comparisons], axis=0) for metric in shared},
        {metric: np.mean([one.resamples[metric] for one in comparisons], axis=0) for metric in shared},
    )
