"""Semantic textual similarity: how well cosines rank sentence pairs, by the protocol of the literature.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", section 6.1 and appendix B:
    plain cosine without a trained regressor, Spearman over all subsets concatenated (`all`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import derive
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_SUITE, STS_TASKS, load_sts
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.own.pairs_task import similarities
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import METRICS, Comparison, averaged, compare, with_means
from mirrormask.evaluation.statistics.correlation import spearman, subset_rows
from mirrormask.evaluation.statistics.resamples import Rows, Statistic, on_rows, pearson_of, spearman_of
from mirrormask.evaluation.statistics.seed_bootstrap import unique_pairs
from mirrormask.evaluation.vectors import Progress, TextVectors

Correlate = Callable[[NDArray[np.floating], NDArray[np.floating]], Statistic]
_CORRELATIONS: dict[str, Correlate] = {"spearman": spearman_of, "pearson": pearson_of}


@dataclass(frozen=True)
class TaskScores:
    """One task: what every pair scored under each model, and the correlations with the gold scores.

    Args:
        task: the pairs.
        similarities: cosine of every pair under each model (models, n).
        comparison: the correlations, their intervals and differences.
        subsets: the correlations inside each subset, as fractions (models,).
    """

    task: ScoredPairs
    similarities: NDArray[np.float64] = field(repr=False)
    comparison: Comparison
    subsets: Mapping[str, Mapping[str, NDArray[np.float64]]] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """Return the task's name as papers write it."""
        return STS_TASKS[self.task.name].title


@dataclass(frozen=True)
class StsReport:
    """All tasks that could be scored, their average, and the names of those that could not.

    Args:
        models: names of the models.
        tasks: the scored tasks by name, in the order asked.
        average: the mean over exactly these tasks; its units are their different pairs.
        skipped: for every task asked that is not scored, why.
    """

    models: tuple[str, ...]
    tasks: Mapping[str, TaskScores]
    average: Comparison
    skipped: Mapping[str, str]

    @property
    def average_title(self) -> str:
        """Return what the average is over, so that it is never taken for another one; a single task is no average."""
        titles = ", ".join(one.title for one in self.tasks.values())
        if len(self.tasks) == 1:
            return titles
        if self.skipped:
            return f"average over {len(self.tasks)} of {len(self.tasks) + len(self.skipped)} tasks ({titles})"
        return f"average over {titles}"

    @property
    def named(self) -> dict[str, Comparison]:
        """Return what is shown under which name: every task, and the average of several."""
        tasks = {one.title: one.comparison for one in self.tasks.values()}
        return {**tasks, "average": self.average} if len(tasks) > 1 else tasks

    @property
    def skipped_titles(self) -> list[str]:
        """Return the names of the skipped tasks as papers write them."""
        return [STS_TASKS[name].title for name in self.skipped]

    def to_dict(self) -> dict[str, Any]:
        """Return the report, JSON-able; correlations are in percent as the keys say."""
        tasks = {
            name: {
                "title": one.title,
                "dataset": STS_TASKS[name].dataset,
                "split": one.task.split,
                "pairs": len(one.task),
                "note": one.task.note,
                **one.comparison.to_dict(),
                "subsets": {
                    subset: {
                        model: {metric: 100 * float(values[place]) for metric, values in found.items()}
                        for place, model in enumerate(self.models)
                    }
                    for subset, found in one.subsets.items()
                },
            }
            for name, one in self.tasks.items()
        }
        average = {"over": list(self.tasks), "title": self.average_title, **self.average.to_dict()}
        return {"tasks": tasks, "average": average, "skipped": dict(self.skipped)}


def load_tasks(names: Sequence[str]) -> tuple[list[ScoredPairs], dict[str, str]]:
    """Return the tasks whose data is there, and for every other one why it is not.

    Raises:
        MirrormaskError: a name is no STS task.
        DataError: a file is there but cannot be read as a task.
    """
    found: list[ScoredPairs] = []
    skipped: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            found.append(load_sts(name))
        except DatasetMissing as error:
            skipped[name] = str(error)
    return found, skipped


def sentences(tasks: Sequence[ScoredPairs]) -> Iterator[str]:
    """Return every sentence of the tasks, repeats included."""
    return itertools.chain.from_iterable(side for task in tasks for side in (task.sentence1, task.sentence2))


def score_tasks(
    tasks: Sequence[ScoredPairs],
    skipped: Mapping[str, str],
    models: Sequence[str],
    vectors: Sequence[TextVectors],
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> StsReport:
    """Score models on tasks whose sentences they have already encoded.

    All tasks are resampled together, and a pair that stands in several of them is drawn for all of them at once.
    """
    if not tasks:
        raise MirrormaskError("An STS evaluation needs at least one task. Got none.")
    places, units = unique_pairs({task.name: task.numbers for task in tasks})
    cosines = {task.name: np.stack([similarities(task, one) for one in vectors]) for task in tasks}  # (models, n) each
    metrics: dict[str, list[Statistic]] = {}
    for task in tasks:
        metrics |= _metrics(task, cosines[task.name], places[task.name])
    strata = _strata(tasks, places, units)
    measured = compare(models, metrics, units, resamples=resamples, seed=derive(seed, "sts"), strata=strata)
    scored = {task.name: _scores(task, cosines[task.name], measured) for task in tasks}
    return StsReport(tuple(models), scored, averaged([one.comparison for one in scored.values()], units), dict(skipped))


def evaluate_sts(
    encoders: Sequence[Any],
    tasks: Sequence[str] = STS_SUITE,
    *,
    names: Sequence[str] | None = None,
    resamples: int = RESAMPLES,
    seed: int = 42,
    progress: Progress | None = None,
) -> StsReport:
    """Score encoders on STS tasks; each different sentence is encoded once across all of them.

    Args:
        encoders: SentenceTransformers (or functions from texts to vectors); the first is what others are held against.
        tasks: names as in `STS_TASKS`; those whose data is missing are skipped and named in the report.
        names: what to call the encoders.
        resamples: bootstrap resamples behind every interval.
        seed: decides the resamples.
        progress: called as sentences are encoded.

    Raises:
        DatasetMissing: no task's data is there.
    """
    called = list(names) if names is not None else [f"model {number}" for number in range(1, len(encoders) + 1)]
    found, skipped = load_tasks(tasks)
    if not found:
        raise DatasetMissing(next(iter(skipped.values()), "No STS task was asked for."))
    vectors = [
        TextVectors.encode(encoder, sentences(found), name=name, progress=progress)
        for encoder, name in zip(encoders, called, strict=True)
    ]
    return score_tasks(found, skipped, called, vectors, resamples=resamples, seed=seed)


def sts_spearman(encoder: Any, task: ScoredPairs | str = "stsb-dev") -> float:
    """Return an encoder's Spearman correlation on one task in percent ('all'), for choosing a checkpoint."""
    loaded = load_sts(task) if isinstance(task, str) else task
    vectors = TextVectors.encode(encoder, sentences([loaded]))
    return 100 * spearman(similarities(loaded, vectors), loaded.scores)


def _subsets(task: ScoredPairs) -> dict[str, NDArray[np.int64]]:
    return subset_rows(task.subsets) if task.subsets else {}


def _strata(
    tasks: Sequence[ScoredPairs], places: Mapping[str, NDArray[np.int64]], units: int
) -> list[NDArray[np.int64]]:
    """Return groups of pairs that keep their size in every resample: the subsets, each pair in its first one."""
    group = np.zeros(units, dtype=np.int64)
    number = 0
    for task in reversed(tasks):
        for rows in _subsets(task).values() or [np.arange(len(task))]:
            group[places[task.name][rows]] = number
            number += 1
    return [np.flatnonzero(group == each) for each in np.unique(group)]


def _metrics(task: ScoredPairs, cosines: NDArray[np.float64], places: NDArray[np.int64]) -> dict[str, list[Statistic]]:
    """Return the correlations of a task and of its subsets, as functions of how often each different pair is drawn."""
    found: dict[str, list[Statistic]] = {}
    for part, rows in {"all": np.arange(len(task)), **{f"of {k}": v for k, v in _subsets(task).items()}}.items():
        drawn = Rows(places[rows])
        for name, correlate in _CORRELATIONS.items():
            found[f"{task.name} {name} {part}"] = [
                on_rows(drawn, correlate(row[rows], task.scores[rows])) for row in cosines
            ]
    return found


def _scores(task: ScoredPairs, cosines: NDArray[np.float64], measured: Comparison) -> TaskScores:
    """Return what was measured of one task, its subsets added up in every way there is."""
    sizes = {name: float(len(rows)) for name, rows in _subsets(task).items()}
    means: dict[str, dict[str, float]] = {}
    for name in _CORRELATIONS:
        whole = {f"{task.name} {name} all": 1.0}
        parts = {f"{task.name} {name} of {subset}": size for subset, size in sizes.items()}
        means[f"{name}_all_percent"] = whole
        if parts or task.single:  # one set is its own mean; where the subsets are unknown, there is none
            means[f"{name}_mean_percent"] = dict.fromkeys(parts, 1.0) or whole
            means[f"{name}_wmean_percent"] = parts or whole
    per_subset = {
        subset: {f"{name}_percent": measured.values[f"{task.name} {name} of {subset}"] for name in _CORRELATIONS}
        for subset in sizes
    }
    return TaskScores(task, cosines, with_means(measured, means, len(task)).ordered(METRICS), per_subset)
