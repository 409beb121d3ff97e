from __future__ import annotations

import time

import numpy as np
import pytest
from scipy import stats

from mirrormask.core.errors import MirrormaskError
from mirrormask.evaluation.statistics import bootstrap
from mirrormask.evaluation.statistics.bootstrap import Difference, difference, estimate, resampled
from mirrormask.evaluation.statistics.resamples import mean_of, spearman_of


def test_every_resample_holds_as_many_units_as_there_are() -> None:
    seen = resampled([lambda counts: counts.sum(axis=1), lambda counts: counts.min(axis=1)], 50, resamples=30)
    assert seen.shape == (2, 30)
    np.testing.assert_array_equal(seen[0], 50)
    assert seen[1].min() == 0  # with replacement: some unit is left out


def test_strata_keep_their_size() -> None:
    strata = [np.arange(0, 10), np.arange(10, 50)]
    seen = resampled([lambda counts: counts[:, :10].sum(axis=1)], 50, resamples=30, strata=strata)
    np.testing.assert_array_equal(seen[0], 10)


def test_blocks_of_memory_do_not_change_the_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=40)
    whole = resampled([mean_of(values)], 40, resamples=25)
    monkeypatch.setattr(bootstrap, "_BLOCK", 100)
    np.testing.assert_allclose(resampled([mean_of(values)], 40, resamples=25), whole, atol=1e-14)


def test_the_seed_decides_the_resamples() -> None:
    values = np.random.default_rng(0).normal(size=40)
    first, again, other = (resampled([mean_of(values)], 40, resamples=9, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_the_interval_of_a_mean_is_the_textbooks() -> None:
    values = np.random.default_rng(0).normal(0.5, 0.2, size=400)
    found = estimate(values.mean(), resampled([mean_of(values)], 400, resamples=4000)[0])
    half = 100 * 1.96 * values.std() / 20
    assert found.value == pytest.approx(100 * values.mean())
    assert found.high - found.low == pytest.approx(2 * half, rel=0.06)


def test_the_interval_agrees_with_scipys_bootstrap() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=150)
    y = x + random.normal(size=150)
    ours = estimate(0.0, resampled([spearman_of(x, y)], 150, resamples=4000)[0])
    peer = stats.bootstrap(
        (x, y),
        lambda a, b: stats.spearmanr(a, b).statistic,
        paired=True,
        vectorized=False,
        n_resamples=1000,
        method="percentile",
        random_state=0,
    ).confidence_interval
    assert ours.low == pytest.approx(100 * peer.low, abs=1.5)
    assert ours.high == pytest.approx(100 * peer.high, abs=1.5)


def test_a_clear_difference_is_real_and_a_copy_is_not() -> None:
    random = np.random.default_rng(0)
    first = random.normal(0.5, 0.2, size=300)
    second = first + random.normal(0.05, 0.1, size=300)
    a, b = resampled([mean_of(first), mean_of(second)], 300)
    better = difference(first.mean(), second.mean(), a, b)
    assert better.real
    assert better.low > 0
    assert better.p_value == pytest.approx(2 / 1001)
    assert better.p == "p ≤ 0.002"
    same = difference(first.mean(), first.mean(), a, a)
    assert (same.value, same.p_value, same.real) == (0.0, 1.0, False)


def test_pairing_sees_what_separate_intervals_cannot() -> None:
    random = np.random.default_rng(0)
    first = random.normal(0.5, 0.3, size=300)
    second = first + 0.01
    a, b = resampled([mean_of(first), mean_of(second)], 300)
    assert estimate(0.0, a).high > estimate(0.0, b).low
    assert difference(first.mean(), second.mean(), a, b).real


def test_the_p_value_is_about_uniform_when_nothing_differs() -> None:
    random = np.random.default_rng(0)
    found = []
    for seed in range(200):
        first, second = random.normal(size=(2, 100))
        a, b = resampled([mean_of(first), mean_of(second)], 100, resamples=200, seed=seed)
        found.append(difference(first.mean(), second.mean(), a, b).real)
    assert 0.01 <= np.mean(found) <= 0.11


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Difference(2.1, 1.0, 3.2, 0.004, 0.002), "B is better than A by 2.1 points (95 % CI 1.0 to 3.2, p = 0.004)."),
        (
            Difference(-2.1, -3.2, -1.0, 0.002, 0.002),
            "A is better than B by 2.1 points (95 % CI 1.0 to 3.2, p ≤ 0.002).",
        ),
        (
            Difference(0.3, -0.8, 1.3, 0.612, 0.002),
            "There is no evidence that B and A differ: +0.3 points (95 % CI −0.8 to +1.3, p = 0.61).",
        ),
    ],
)
def test_the_verdict_in_words(found: Difference, text: str) -> None:
    assert found.sentence("A", "B") == text


def test_a_thousand_resamples_of_sts_b_take_under_a_second() -> None:
    random = np.random.default_rng(0)
    gold = random.integers(0, 26, size=1379) / 5
    predicted = gold + random.normal(size=1379)
    start = time.perf_counter()
    resampled([spearman_of(predicted, gold)], 1379, resamples=1000)
    assert time.perf_counter() - start < 1.0


def test_no_resamples_is_an_error() -> None:
    with pytest.raises(MirrormaskError, match="'resamples' of a bootstrap must be at least 1"):
        resampled([mean_of(np.ones(3))], 3, resamples=0)


@pytest.mark.parametrize("resamples", [-1, 0, 100_001, 999_999_999_999])
def test_a_number_of_resamples_that_cannot_be(resamples: int) -> None:
    with pytest.raises(MirrormaskError, match=r"'resamples' of a bootstrap must be at least 1 and below 100001\. Got"):
        resampled([mean_of(np.ones(5))], 5, resamples=resamples)
