"""Several models on the same units: each score with its interval, and each difference with its verdict."""

from __future__ import annotations

import dataclasses
import itertools
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
from mirrormask.evaluation.statistics.significance import holm

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
    "recall_at_100_percent": "recall@100",
    "precision_at_1_percent": "P@1",
    "precision_at_5_percent": "P@5",
    "precision_at_10_percent": "P@10",
    "mrr_percent": "MRR",
    "mrr_at_10_percent": "MRR@10",
    "ndcg_at_10_percent": "nDCG@10",
    "knn_accuracy_percent": "kNN accuracy",
    "knn_macro_f1_percent": "kNN macro-F1",
    "linear_accuracy_percent": "linear accuracy",
    "linear_macro_f1_percent": "linear macro-F1",
    "accuracy_percent": "accuracy",
    "f1_percent": "F1",
}
"""The keys of all scores, every one in percent (0 to 100), and what people call them."""


@dataclass(frozen=True)
class Comparison:
    """What each model scored on the same units, and how every two of them differ.

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
        """Return how much better a model is than the first, in percent points, corrected over all pairs of models."""
        return self.differences(metric)[0, model]

    def differences(self, metric: str) -> dict[tuple[int, int], Difference]:
        """Return how much better the second of every two models is, their p-values corrected by Holm over all pairs."""
        values, drawn = self.values[metric], self.resamples[metric]
        pairs = list(itertools.combinations(range(len(self.models)), 2))
        found = [difference(float(values[a]), float(values[b]), drawn[a], drawn[b]) for a, b in pairs]
        corrected = holm([each.p_value for each in found])
        return {
            pair: dataclasses.replace(each, p_value=p, least_p=min(1.0, len(pairs) * each.least_p))
            for pair, each, p in zip(pairs, found, corrected, strict=True)
        }

    def verdicts(self, metric: str, on: str = "") -> list[str]:
        """Return one sentence for every two models, and for more than two first which is the best of them."""
        what = METRICS[metric] + (f" on {on}" if on else "")
        found = self.differences(metric)
        said = [each.sentence(self.models[a], self.models[b], what) for (a, b), each in found.items()]
        return said if len(self.models) < 3 else [self._best(metric, what, found), *said]

    def _best(self, metric: str, what: str, found: Mapping[tuple[int, int], Difference]) -> str:
        best = int(np.argmax(self.values[metric]))
        near = [a if b == best else b for (a, b), each in found.items() if best in (a, b) and not each.real]
        name, score = self.models[best], 100 * float(self.values[metric][best])
        count = f"p-values are corrected for {len(found)} pairs of models"
        if not near:
            return f"{name} is the best of {len(self.models)} models in {what}: {score:.1f} ({count})."
        others = ", ".join(self.models[model] for model in near)
        return f"{name} is highest in {what} with {score:.1f}, but cannot be told from {others} ({count})."

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
        pairs = [
            {"first": self.models[a], "second": self.models[b], metric: found.to_dict()}
            for metric in self.metrics
            for (a, b), found in self.differences(metric).items()
        ]
        return {"scores": scores, "differences_to_first": differences, "pairs_of_models": pairs}


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


def with_means(comparison: Comparison, means: Mapping[str, Mapping[str, float]], units: int) -> Comparison:
    """Return weighted means of metrics, on the data and on every resample.

    Args:
        comparison: what was measured.
        means: for each new metric the metrics it is the mean of, with their weights.
        units: behind them.
    """

    def mean(of: Mapping[str, NDArray[np.float64]], weights: Mapping[str, float]) -> NDArray[np.float64]:
        return np.average([of[metric] for metric in weights], axis=0, weights=list(weights.values()))

    values, drawn = (
        {name: mean(of, m) for name, m in means.items()} for of in (comparison.values, comparison.resamples)
    )
    return Comparison(comparison.models, units, values, drawn)


def averaged(comparisons: Sequence[Comparison], units: int) -> Comparison:
    """Return the mean over several sets of units, for the metrics that all of them have.

    Args:
        comparisons: measured on the same resamples, so that what two sets share moves both.
        units: different ones in all of them.
    """
    first = comparisons[0]
    shared = [metric for metric in first.metrics if all(metric in one.values for one in comparisons)]
    return Comparison(
        first.models,
        units,
        {metric: np.mean([one.values[metric] for one in comparisons], axis=0) for metric in shared},
        {metric: np.mean([one.resamples[metric] for one in comparisons], axis=0) for metric in shared},
    )
