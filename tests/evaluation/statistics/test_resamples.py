from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sklearn.metrics import f1_score

from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.statistics.resamples import (
    Rows,
    macro_f1_of,
    mean_of,
    on_rows,
    pearson_of,
    spearman_of,
)

RESAMPLES = 20


@pytest.fixture
def drawn() -> NDArray[np.int64]:
    return np.random.default_rng(1).integers(0, 60, size=(RESAMPLES, 60))


def counted(drawn: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.stack([np.bincount(row, minlength=60) for row in drawn]).astype(np.float64)


@pytest.fixture
def values() -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    random = np.random.default_rng(2)
    gold = random.integers(0, 4, size=60).astype(np.float64)
    return np.round(gold + 2 * random.normal(size=60)), gold


def test_spearman_is_scipys_on_every_resample(
    drawn: NDArray[np.int64], values: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> None:
    x, y = values
    expected = [stats.spearmanr(x[rows], y[rows]).statistic for rows in drawn]
    np.testing.assert_allclose(spearman_of(x, y)(counted(drawn)), expected, atol=1e-12)
    assert on_all(spearman_of(x, y), 60) == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_pearson_is_scipys_on_every_resample(
    drawn: NDArray[np.int64], values: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> None:
    x, y = 1e6 + 1e-3 * values[0], values[1]  # far from zero: a naive one-pass variance would lose its digits
    expected = [stats.pearsonr(x[rows], y[rows]).statistic for rows in drawn]
    np.testing.assert_allclose(pearson_of(x, y)(counted(drawn)), expected, atol=1e-6)


def test_the_mean_of_every_resample(
    drawn: NDArray[np.int64], values: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> None:
    expected = [values[0][rows].mean() for rows in drawn]
    np.testing.assert_allclose(mean_of(values[0])(counted(drawn)), expected)


def test_macro_f1_is_scikit_learns_on_every_resample(drawn: NDArray[np.int64]) -> None:
    random = np.random.default_rng(3)
    gold = random.integers(0, 5, size=60)
    predicted = np.where(random.random(60) < 0.6, gold, random.integers(0, 5, size=60))
    expected = [f1_score(gold[rows], predicted[rows], average="macro") for rows in drawn]
    np.testing.assert_allclose(macro_f1_of(predicted, gold, 5)(counted(drawn)), expected)


def test_a_class_that_a_resample_lacks_is_left_out() -> None:
    gold, predicted = np.array([0, 0, 1]), np.array([0, 0, 1])
    assert macro_f1_of(predicted, gold, 3)(np.array([[2.0, 1.0, 0.0]])) == [1.0]


def test_a_statistic_of_some_rows_sees_only_them(
    drawn: NDArray[np.int64], values: tuple[NDArray[np.float64], NDArray[np.float64]]
) -> None:
    x, y = values
    rows = np.arange(10, 40)
    counts = counted(drawn)
    expected = spearman_of(x[rows], y[rows])(counts[:, rows])
    some = Rows(rows)
    np.testing.assert_array_equal(on_rows(some, spearman_of(x[rows], y[rows]))(counts), expected)
    assert some(counts) is some(counts), "looked up once"
    np.testing.assert_array_equal(some(counts + 1), counts[:, rows] + 1)


def test_a_constant_side_scores_zero() -> None:
    counts = np.array([[3.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    ramp = np.arange(3.0)
    np.testing.assert_allclose(spearman_of(ramp, ramp)(counts), [0.0, 1.0])
    np.testing.assert_allclose(pearson_of(ramp, ramp)(counts), [0.0, 1.0])
    np.testing.assert_allclose(pearson_of(np.ones(3), ramp)(counts), [0.0, 0.0])
