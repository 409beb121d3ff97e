from __future__ import annotations

import numpy as np
import pytest

from mirrormask.data.tasks.scored_pairs import ScoredPairs, likely_scale, pair_numbers


def test_the_number_of_a_pair() -> None:
    one = pair_numbers(["A man sat.", "x"], ["He ate!", "y"])
    assert one[0] == pair_numbers(["he ate"], ["a man sat ."])[0]
    assert one[0] != one[1]
    assert (one >= 0).all()


def test_a_pair_has_its_number_wherever_it_stands() -> None:
    left, right = ("A man sat.", "x"), ("He ate!", "y")
    pairs = ScoredPairs("a", "", left, right, np.array([1.0, 2.0]))
    assert pairs.numbers.tolist() == pair_numbers(left, right).tolist()
    assert len(pairs) == 2


@pytest.mark.parametrize(
    ("scores", "scale", "above"),
    [([0, 4.9], (0, 5), 4.0), ([0, 1], (0, 1), 0.8), ([-1, 0.95], (-1, 1), 0.6), ([0, 7], (0, 7), 5.6)],
)
def test_the_scale_and_what_is_positive_on_it(scores: list[float], scale: tuple[float, float], above: float) -> None:
    values = np.array(scores, dtype=float)
    assert likely_scale(values) == scale
    pairs = ScoredPairs("a", "", ("x",) * 2, ("y",) * 2, values)
    assert pairs.positive_above == pytest.approx(above)
    assert ScoredPairs("a", "", ("x",) * 2, ("y",) * 2, values, scale=(0, 10)).positive_above == 8
