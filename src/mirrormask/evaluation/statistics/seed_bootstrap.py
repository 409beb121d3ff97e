"""Bootstrap over sentence pairs and seeds at once: would the difference hold on other sentences, with other seeds?

Paper: Efron & Tibshirani 1993, "An Introduction to the Bootstrap"; Owen 2007, "The pigeonhole bootstrap" (resampling
    rows and columns of a table together)

A resample draws sentence pairs, the same for every run and task, and seeds, the same for both methods. A pair that
stands in two tasks is one pair: 723 of the 1,379 pairs of STS-B's test set are also in STS12 to STS15, and drawing them
twice over would make an average look steadier than it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import generator
from mirrormask.evaluation.statistics.bootstrap import RESAMPLES, Estimate, estimate, resampled
from mirrormask.evaluation.statistics.resamples import Rows, on_rows, spearman_of


@dataclass(frozen=True)
class TaskPairs:
    """One task under the runs of one method.

    Args:
        cosines: of every pair under each run (runs, n).
        gold: scores people gave (n,).
        pairs: a number for each pair of sentences (n,), the same wherever it occurs.
    """

    cosines: NDArray[np.floating] = field(repr=False)
    gold: NDArray[np.floating] = field(repr=False)
    pairs: NDArray[np.int64] = field(repr=False)


def unique_pairs(tasks: Mapping[str, NDArray[np.int64]]) -> tuple[dict[str, NDArray[np.int64]], int]:
    """Return for each task the place of its pairs among all different pairs, and how many different ones there are.

    Example:
        >>> places, count = unique_pairs({"a": np.array([7, 9]), "b": np.array([9, 4])})
        >>> {name: found.tolist() for name, found in places.items()}, count
        ({'a': [1, 2], 'b': [2, 0]}, 3)
    """
    every, inverse = np.unique(np.concatenate(list(tasks.values())), return_inverse=True)
    ends = np.cumsum([len(pairs) for pairs in tasks.values()])[:-1]
    return dict(zip(tasks, np.split(inverse.astype(np.int64), ends), strict=True)), len(every)


def resampled_averages(
    tasks: Mapping[str, TaskPairs], *, resamples: int = RESAMPLES, seed: int = 42
) -> NDArray[np.float64]:
    """Return the mean Spearman correlation over the tasks for every run on every resample (runs, r), as fractions.

    Two methods measured with the same tasks and seed are measured on the same resamples.
    """
    places, count = unique_pairs({name: task.pairs for name, task in tasks.items()})
    runs = {len(task.cosines) for task in tasks.values()}
    if len(runs) != 1:
        raise MirrormaskError(f"Every task must have been measured with the same runs. Got {sorted(runs)} of them.")
    rows = {name: Rows(found) for name, found in places.items()}
    statistics = [
        on_rows(rows[name], spearman_of(cosines, task.gold)) for name, task in tasks.items() for cosines in task.cosines
    ]
    drawn = resampled(statistics, count, resamples=resamples, seed=seed)
    averages: NDArray[np.float64] = drawn.reshape(len(tasks), runs.pop(), resamples).mean(axis=0)
    return averages


def seed_interval(
    first: Sequence[float], second: Sequence[float], first_drawn: NDArray[np.float64], second_drawn: NDArray[np.float64]
) -> Estimate:
    """Return how much better the second method is than the first over paired seeds, in percent points.

    An interval only: few seeds cover less of what seeds do than 95 % of its resamples, so sign flips decide.

    Args:
        first, second: score of each seed's run, as fractions (seeds,).
        first_drawn, second_drawn: the same on resamples of the pairs (seeds, r).
    """
    seeds, resamples = first_drawn.shape
    chosen = generator(seeds, "seeds").integers(0, seeds, size=(seeds, resamples))
    values = np.take_along_axis(second_drawn - first_drawn, chosen, axis=0).mean(axis=0)
    return estimate(float(np.mean(second) - np.mean(first)), values)
