from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.seeding import generator
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.evaluation.statistics.seed_bootstrap import TaskPairs, resampled_averages, seed_interval, unique_pairs


def tasks(noise: float, runs: int = 3, seed: int = 0) -> dict[str, TaskPairs]:
    """Two tasks that share ten pairs; more noise is a worse method."""
    random = np.random.default_rng(5)
    gold = {"a": random.uniform(0, 5, 40), "b": random.uniform(0, 5, 30)}
    numbers = {"a": np.arange(40), "b": np.arange(30, 60)}
    gold["b"][:10] = gold["a"][30:]
    other = np.random.default_rng(seed)
    return {
        name: TaskPairs(gold[name] + noise * other.normal(size=(runs, len(gold[name]))), gold[name], numbers[name])
        for name in gold
    }


def test_against_a_loop() -> None:
    """Draw the same counts of different pairs, write each resample out, and correlate."""
    found = tasks(2.0)
    values = resampled_averages(found, resamples=20, seed=9)
    assert values.shape == (3, 20)
    drawn = generator(9, "bootstrap").integers(0, 60, size=(20, 60))
    for resample in range(20):
        counts = np.bincount(drawn[resample], minlength=60)
        for run in range(3):
            parts = []
            for task in found.values():
                rows = [row for row, pair in enumerate(task.pairs) for _ in range(counts[pair])]
                parts.append(spearman(task.cosines[run][rows], task.gold[rows]))
            assert values[run, resample] == pytest.approx(np.mean(parts))


def test_a_pair_in_two_tasks_is_one() -> None:
    places, count = unique_pairs({"a": np.array([5, 5, 8]), "b": np.array([8, 1])})
    assert count == 3
    assert places["a"].tolist() == [1, 1, 2]
    assert places["b"].tolist() == [2, 0]


def scores(found: dict[str, TaskPairs]) -> list[float]:
    runs = range(len(found["a"].cosines))
    return [float(np.mean([spearman(task.cosines[run], task.gold) for task in found.values()])) for run in runs]


def test_an_interval_holds_the_difference() -> None:
    good, bad, other = tasks(0.5, runs=5), tasks(3.0, runs=5, seed=1), tasks(3.0, runs=5, seed=2)
    drawn = [resampled_averages(each, resamples=300) for each in (good, bad, other)]
    real = seed_interval(scores(bad), scores(good), drawn[1], drawn[0])
    assert 0 < real.low < real.value < real.high
    assert real.value == pytest.approx(100 * (np.mean(scores(good)) - np.mean(scores(bad))))
    none = seed_interval(scores(bad), scores(other), drawn[1], drawn[2])
    assert none.low < 0 < none.high
    same = seed_interval(scores(bad), scores(bad), drawn[1], drawn[1])
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)


def test_seeds_that_differ_widen_the_interval() -> None:
    """The same pairs, but a method whose seeds scatter: resampling pairs alone would not see it."""
    steady = tasks(1.0, runs=6)
    drawn = resampled_averages(steady, resamples=400)
    shifts = np.array([-0.1, 0.1, -0.08, 0.09, -0.11, 0.1])[:, None]
    calm = seed_interval(scores(steady), scores(steady), drawn, drawn + 0.01)
    wild = seed_interval(scores(steady), scores(steady), drawn, drawn + 0.01 + shifts)
    assert wild.high - wild.low > 5 * (calm.high - calm.low)


def test_runs_must_agree() -> None:
    found = tasks(1.0)
    found["b"] = TaskPairs(found["b"].cosines[:2], found["b"].gold, found["b"].pairs)
    with pytest.raises(MirrormaskError, match=r"same runs. Got \[2, 3\]"):
        resampled_averages(found, resamples=2)
