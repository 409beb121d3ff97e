from __future__ import annotations

import numpy as np
import pytest

from mirrormask.exploring.closeness import DEFAULT, choose_closeness


@pytest.mark.parametrize("twins", [0, 30, 300])
def test_few_texts_without_a_twin_come_so_near(twins: int) -> None:
    random = np.random.default_rng(twins)
    far = 1 - random.normal(1.0, 0.08, 1000) ** 2 / 2
    near = 1 - np.abs(random.normal(0.3, 0.08, twins)) ** 2 / 2
    found = choose_closeness(np.concatenate([far, near]))
    assert np.mean(far >= found.threshold) < 0.01
    if twins:
        assert np.mean(near >= found.threshold) > 0.9
    assert f"{found.threshold:.3f}" in found.reason


def test_few_texts_get_the_usual_threshold_and_it_is_said() -> None:
    found = choose_closeness(np.full(20, 0.3))
    assert found.threshold == DEFAULT
    assert "too few" in found.reason


def test_texts_that_are_all_the_same_give_a_threshold() -> None:
    assert 0.5 <= choose_closeness(np.ones(200)).threshold <= 0.99
