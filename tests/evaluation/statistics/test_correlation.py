from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mirrormask.evaluation.statistics.correlation import aggregated, pearson, spearman, subset_rows


@pytest.fixture
def pairs() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(0)
    gold = random.integers(0, 6, size=200).astype(np.float64)
    return np.round(0.3 * gold + random.normal(size=200), 1), gold  # ties on both sides


def test_spearman_and_pearson_are_scipys(pairs: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    assert spearman(*pairs) == pytest.approx(stats.spearmanr(*pairs).statistic, abs=1e-12)
    assert pearson(*pairs) == pytest.approx(stats.pearsonr(*pairs).statistic, abs=1e-12)


def test_closed_forms() -> None:
    ramp = np.arange(5.0)
    assert spearman(ramp**3, ramp) == pytest.approx(1.0)
    assert spearman(-ramp, ramp) == pytest.approx(-1.0)
    assert pearson(2 * ramp + 1, ramp) == pytest.approx(1.0)
    # Without ties Spearman is 1 - 6 * sum(d^2) / (n (n^2 - 1)).
    assert spearman(np.array([1.0, 3.0, 2.0, 5.0, 4.0]), ramp) == pytest.approx(1 - 6 * 4 / (5 * 24))
    # One point apart from a constant pair: cov / (sx sy) = (1/3) / sqrt(2/9 * 2/3).
    assert pearson(np.array([0.0, 0.0, 1.0]), np.arange(3.0)) == pytest.approx((1 / 3) / math.sqrt(2 / 9 * 2 / 3))


def test_spearman_against_a_loop(pairs: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    def ranks(values: NDArray[np.float64]) -> list[float]:
        return [sum(v < value for v in values) + (sum(v == value for v in values) + 1) / 2 for value in values]

    x, y = ranks(pairs[0]), ranks(pairs[1])
    middle = (len(x) + 1) / 2
    top = sum((a - middle) * (b - middle) for a, b in zip(x, y, strict=True))
    bottom = math.sqrt(sum((a - middle) ** 2 for a in x) * sum((b - middle) ** 2 for b in y))
    assert spearman(*pairs) == pytest.approx(top / bottom, abs=1e-12)


def test_a_constant_side_scores_zero() -> None:
    assert spearman(np.ones(5), np.arange(5.0)) == 0.0
    assert pearson(np.arange(5.0), np.ones(5)) == 0.0
    assert pearson(np.ones(1), np.ones(1)) == 0.0


def test_the_three_aggregations_differ_as_defined(pairs: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    subsets = ["small"] * 30 + ["large"] * 170
    small, large = (spearman(pairs[0][part], pairs[1][part]) for part in (slice(0, 30), slice(30, 200)))
    found = aggregated(spearman, *pairs, subsets)
    assert found["all"] == spearman(*pairs)
    assert found["mean"] == pytest.approx((small + large) / 2)
    assert found["wmean"] == pytest.approx(0.15 * small + 0.85 * large)


def test_without_subsets_the_three_are_one(pairs: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
    assert len(set(aggregated(pearson, *pairs, None).values())) == 1


def test_subset_rows_keep_their_order() -> None:
    assert list(subset_rows(["z", "a", "z"])) == ["z", "a"]
