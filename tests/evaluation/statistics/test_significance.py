from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from mirrormask.core.errors import MirrormaskError
from mirrormask.evaluation.statistics.significance import fewest_pairs, holm, least_p, pairs_needed, sign_flip_p


@pytest.mark.parametrize("count", [1, 2, 5, 6, 9])
@pytest.mark.parametrize("shift", [0.0, 0.4, 3.0])
def test_sign_flips_against_a_loop_and_scipy(count: int, shift: float) -> None:
    values = np.random.default_rng(count).normal(shift, 1, count)
    found = sign_flip_p(values)
    flips = [abs(np.mean(np.array(signs) * values)) for signs in itertools.product((1, -1), repeat=count)]
    assert found == pytest.approx(np.mean([flip >= abs(values.mean()) - 1e-12 for flip in flips]))
    if count > 1:
        theirs = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=np.inf)
        assert found == pytest.approx(theirs.pvalue)


def test_many_pairs_are_drawn_at_random_and_reproducibly() -> None:
    values = np.random.default_rng(3).normal(0.3, 1, 40)
    found = sign_flip_p(values)
    assert found == sign_flip_p(values)
    assert found == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=0.01)
    assert sign_flip_p(values + 5) == pytest.approx(least_p(40))


def test_no_difference_is_no_evidence() -> None:
    assert sign_flip_p([0.0, 0.0, 0.0]) == 1.0
    with pytest.raises(MirrormaskError, match="A sign-flip test needs at least one pair. Got none."):
        sign_flip_p([])


def test_ties_count_whatever_the_order_of_the_sum() -> None:
    values = [0.1, 0.2, 0.3, -0.6, 0.7]
    assert {sign_flip_p(order) for order in itertools.permutations(values)} == {sign_flip_p(values)}


def test_five_seeds_cannot_reach_five_percent() -> None:
    assert least_p(5) == 2 / 2**5 == sign_flip_p([5, 4, 6, 5, 5])
    assert fewest_pairs(0.05) == 6
    for alpha in (0.05, 0.01, 0.05 / 8, 0.001):
        pairs = fewest_pairs(alpha)
        assert sign_flip_p(np.arange(1.0, pairs + 1)) < alpha
        assert sign_flip_p(np.arange(1.0, pairs)) >= alpha


def test_holm_against_its_definition() -> None:
    """Reject in order of size while p <= alpha / (what is left); the corrected value is the least such alpha."""
    random = np.random.default_rng(0)
    for count in (1, 2, 5, 12):
        values = random.uniform(0, 0.2, count)
        values[-1] = values[0]  # a tie
        found = holm(values.tolist())
        for alpha in np.linspace(0.001, 1, 400):
            order = np.argsort(values, kind="stable")
            rejected = set()
            for rank, place in enumerate(order):
                if values[place] > alpha / (count - rank):
                    break
                rejected.add(place)
            assert rejected == {place for place in range(count) if found[place] <= alpha + 1e-12}
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(("effect", "expected"), [(0.5, 34), (0.8, 15), (1.0, 10), (0.2, 199)])
def test_needed_pairs_as_tables_of_power_have_them(effect: float, expected: int) -> None:
    """The numbers of a two-sided paired t-test at 5 % with a power of 80 % (Cohen 1988; G*Power)."""
    assert pairs_needed(effect, 1.0) == expected
    assert pairs_needed(-10 * effect, 10.0) == expected


def test_needed_pairs_by_simulation() -> None:
    count = pairs_needed(0.9, 1.0)
    assert count is not None
    random = np.random.default_rng(1)
    hits = [sign_flip_p(random.normal(0.9, 1, count)) < 0.05 for _ in range(600)]
    assert 0.72 < np.mean(hits) < 0.9


def test_needed_pairs_at_the_edges() -> None:
    assert pairs_needed(0.0, 1.0) is None
    assert pairs_needed(1.0, 0.0) == 6
    assert pairs_needed(1.0, 0.0, alpha=0.05 / 7) == 9
    assert pairs_needed(float("nan"), 1.0) is None
    assert pairs_needed(1e-3, 1.0) is None
    assert pairs_needed(100.0, 1.0) == 6
