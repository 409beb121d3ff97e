"""A shuffled order holds every row once, is the same for the same seed, and looks random."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.order import ShuffledOrder, ShuffledRuns


@pytest.mark.parametrize("n", [*range(1, 70), 100, 255, 256, 257, 1000, 4095, 4096, 4097, 65_537, 100_003])
def test_every_row_once(n: int) -> None:
    for seed in (0, 7):
        rows = ShuffledOrder(n, seed).take(0, n)
        assert np.array_equal(np.sort(rows), np.arange(n))


def test_random_access_equals_the_whole() -> None:
    order = ShuffledOrder(1013, seed=3)
    rows = order.take(0, 1013)
    assert [order[i] for i in (0, 5, 1012)] == [rows[0], rows[5], rows[1012]]
    assert np.array_equal(order.take(400, 464), rows[400:464])
    assert np.array_equal(order.take(1000, 2000), rows[1000:])
    with pytest.raises(IndexError):
        order[1013]


def test_huge_orders_cost_nothing() -> None:
    order = ShuffledOrder(10**12, seed=3)
    rows = order.take(10**12 - 1000, 10**12)
    assert len(np.unique(rows)) == 1000
    assert rows.min() >= 0
    assert rows.max() < 10**12


def test_seeds_differ() -> None:
    assert ShuffledOrder(1000, 1).take(0, 1000).tolist() == ShuffledOrder(1000, 1).take(0, 1000).tolist()
    same = np.mean(ShuffledOrder(1000, 1).take(0, 1000) == ShuffledOrder(1000, 2).take(0, 1000))
    assert same < 0.02


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_small_orders_are_uniform_over_all_permutations(n: int) -> None:
    trials = 4000
    seen = Counter(tuple(ShuffledOrder(n, seed).take(0, n).tolist()) for seed in range(trials))
    everything = list(itertools.permutations(range(n)))
    counts = [seen[permutation] for permutation in everything]
    assert stats.chisquare(counts).pvalue > 1e-4


def test_blocks_are_spread_evenly() -> None:
    n, blocks = 100_000, 50
    rows = ShuffledOrder(n, seed=11).take(0, n)
    table = np.zeros((blocks, blocks))
    np.add.at(table, (np.arange(n) * blocks // n, rows * blocks // n), 1)
    # Rows and columns sum to n / blocks by construction, hence (blocks - 1)² degrees of freedom.
    statistic = ((table - n / blocks**2) ** 2 / (n / blocks**2)).sum()
    assert 1e-4 < stats.chi2.sf(statistic, (blocks - 1) ** 2) < 1 - 1e-4
    assert abs(np.corrcoef(rows[:-1], rows[1:])[0, 1]) < 0.02
    neighbors = np.mean(np.abs(np.diff(rows)) == 1)
    assert neighbors < 5 * 2 / n + 1e-4


def test_nothing_to_order_is_refused() -> None:
    with pytest.raises(MirrormaskError, match=r"The .n. of an order must be at least 1\. Got 0"):
        ShuffledOrder(0, 1)


@pytest.mark.parametrize("n", [1, 3, 16, 90, 661])
def test_runs_are_shuffled_and_stay_whole(n: int) -> None:
    rows = ShuffledRuns(n, 4, seed=2).take(0, n)
    assert sorted(rows.tolist()) == list(range(n))
    for start in range(0, n - n % 4, 4):
        assert np.diff(rows[start : start + 4]).tolist() == [1, 1, 1]
    if n > 20:
        assert rows.tolist() != list(range(n))
        assert rows.tolist() != ShuffledRuns(n, 4, seed=3).take(0, n).tolist()
