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
from mirrormask.core.similarity import paired_cosine
from mirrormask.data.tasks.sts_tasks import STS_SUITE, STS_TASKS, StsTask, load_sts
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES
from mirrormask.evaluation.statistics.comparison import METRICS, Comparison, averaged, compare, with_means
from mirrormask.evaluation.statistics.correlation import spearman, subset_rows
from mirrormask.evaluation.statistics.resamples import Statistic, on_rows, pearson_of, spearman_of
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

    task: StsTask
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
        average: the mean over exactly these tasks.
        skipped: for every task asked that is not scored, why.
    """

    models: tuple[str, ...]
    tasks: Mapping[str, TaskScores]
    average: Comparison
    skipped: Mapping[str, str]

    @property
    def average_title(self) -> str:
        """Return what the average is over, so that it is never taken for another one."""
        titles = ", ".join(one.title for one in self.tasks.values())
        if self.skipped:
            return f"average over {len(self.tasks)} of {len(self.tasks) + len(self.skipped)} tasks ({titles})"
        return f"average over {titles}"

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


def load_tasks(names: Sequence[str]) -> tuple[list[StsTask], dict[str, str]]:
    """Return the tasks whose data is there, and for every other one why it is not.

    Raises:
        MirrormaskError: a name is no STS task.
        DataError: a file is there but cannot be read as a task.
    """
    found: list[StsTask] = []
    skipped: dict[str, str] = {}
    for name in dict.fromkeys(names):
        try:
            found.append(load_sts(name))
        except DatasetMissing as error:
            skipped[name] = str(error)
    return found, skipped


def sentences(tasks: Sequence[StsTask]) -> Iterator[str]:
    """Return every sentence of the tasks, repeats included."""
    return itertools.chain.from_iterable(side for task in tasks for side in (task.sentence1, task.sentence2))


def score_tasks(
    tasks: Sequence[StsTask],
    skipped: Mapping[str, str],
    models: Sequence[str],
    vectors: Sequence[TextVectors],
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
) -> StsReport:
    """Score models on tasks whose sentences they have already encoded."""
    if not tasks:
        raise MirrormaskError("An STS evaluation needs at least one task. Got none.")
    scored = {task.name: _score(task, models, vectors, resamples, derive(seed, task.name)) for task in tasks}
    average = averaged([one.comparison for one in scored.values()])
    return StsReport(tuple(models), scored, average, dict(skipped))


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


def sts_spearman(encoder: Any, task: StsTask | str = "stsb-dev") -> float:
    """Return an encoder's Spearman correlation on one task in percent ('all'), for choosing a checkpoint."""
    loaded = load_sts(task) if isinstance(task, str) else task
    vectors = TextVectors.encode(encoder, sentences([loaded]))
    return 100 * spearman(_similarities(loaded, vectors), loaded.scores)


def _similarities(task: StsTask, vectors: TextVectors) -> NDArray[np.float64]:
    return paired_cosine(vectors.of(task.sentence1), vectors.of(task.sentence2))


def _score(
    task: StsTask, models: Sequence[str], vectors: Sequence[TextVectors], resamples: int, seed: int
) -> TaskScores:
    similarities = np.stack([_similarities(task, one) for one in vectors])  # (models, n)
    gold = task.scores
    groups = subset_rows(task.subsets) if task.subsets else {}
    metrics: dict[str, list[Statistic]] = {}
    means: dict[str, dict[str, float]] = {}
    for name, correlate in _CORRELATIONS.items():
        whole = f"{name}_all_percent"
        metrics[whole] = [correlate(row, gold) for row in similarities]
        parts = {f"{name} of {subset}": float(len(rows)) for subset, rows in groups.items()}
        for part, rows in zip(parts, groups.values(), strict=True):
            metrics[part] = [on_rows(rows, correlate(row[rows], gold[rows])) for row in similarities]
        if parts:
            means[f"{name}_mean_percent"] = dict.fromkeys(parts, 1.0)
            means[f"{name}_wmean_percent"] = parts
        elif task.single:  # one set is its own mean; where the subsets are unknown, there is none
            means |= {f"{name}_{how}_percent": {whole: 1.0} for how in ("mean", "wmean")}
    strata = list(groups.values()) or None
    measured = compare(models, metrics, len(task), resamples=resamples, seed=seed, strata=strata)
    whole_task = with_means(measured, means, keep=[f"{name}_all_percent" for name in _CORRELATIONS])
    per_subset = {
        subset: {f"{name}_percent": measured.values[f"{name} of {subset}"] for name in _CORRELATIONS}
        for subset in groups
    }
    return TaskScores(task, similarities, whole_task.ordered(METRICS), per_subset)
