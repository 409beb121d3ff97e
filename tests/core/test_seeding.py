from __future__ import annotations

import numpy as np
from scipy.stats import kstest

from mirrormask.core.seeding import Seeds, derive, generator, integers, uniforms


def test_seeds_are_pinned() -> None:
    """A change here changes every trained model."""
    assert derive(42, "dropout", 1) == 5005696565033842196
    assert derive(1, "a", 2) != derive(1, "a", 3) != derive(2, "a", 3) != derive(2, "b", 3)
    assert derive(1, 23) != derive(12, 3), "the path is not glued together"
    assert all(0 <= derive(seed) < 2**63 for seed in range(50))


def test_generators_repeat() -> None:
    draw = [generator(7, "x").integers(0, 1000, 5).tolist() for _ in range(2)]
    assert draw[0] == draw[1] != generator(8, "x").integers(0, 1000, 5).tolist()


def test_one_seed_for_all() -> None:
    assert Seeds.all(3) == Seeds(3, 3, 3)
    assert Seeds() == Seeds.all(42)


def hashed(number: int, key: int) -> int:
    """Return SplitMix64 at place `number`, with Python's own integers."""
    z = (number + key) * 0x9E3779B97F4A7C15 % 2**64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % 2**64
    z = (z ^ z >> 27) * 0x94D049BB133111EB % 2**64
    return (z ^ z >> 31) >> 1


def test_uniform_draws_are_those_of_a_loop() -> None:
    rows, draws, seed = np.array([5, 0, 2**40]), np.arange(3), derive(1, "x")
    found = uniforms(seed, rows[:, None], draws)
    for i, row in enumerate(rows.tolist()):
        for j in range(3):
            assert found[i, j] == (hashed(j, hashed(row, seed)) >> 10) / 2**53


def test_uniform_draws_are_even_and_not_alike() -> None:
    drawn = uniforms(derive(3), np.arange(20_000)[:, None], np.arange(4))
    assert 0 <= drawn.min() < drawn.max() < 1
    assert kstest(drawn.ravel(), "uniform").pvalue > 1e-3
    assert np.abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.03, "the draws of a row"
    assert abs(np.corrcoef(drawn[1:, 0], drawn[:-1, 0])[0, 1]) < 0.03, "rows that are neighbors"
    assert abs(np.corrcoef(drawn[:, 0], uniforms(derive(4), np.arange(20_000), np.array(0)))[0, 1]) < 0.03, "two seeds"


def test_integers_reach_both_ends_alike() -> None:
    low, high = np.array([0, 2, 5]), np.array([0, 4, 14])
    drawn = integers(low, high, uniforms(1, np.arange(30_000)[:, None], np.arange(3)))
    for column, (a, b) in enumerate(zip(low, high, strict=True)):
        values, counts = np.unique(drawn[:, column], return_counts=True)
        assert values.tolist() == list(range(a, b + 1))
        np.testing.assert_allclose(counts / 30_000, 1 / (b - a + 1), rtol=0.1)
    last = np.full(1000, 1 - 2.0**-53)
    assert (integers(0, np.arange(1000), last) == np.arange(1000)).all(), "the largest draw is no number too many"
