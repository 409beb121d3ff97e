from __future__ import annotations

import pytest
from torch import nn

from mirrormask.models.copies import copy_of, follow, still


def test_follow_equals_the_loop() -> None:
    slow, fast = nn.Linear(2, 2), nn.Linear(2, 2)
    expected = [
        [0.75 * a + 0.25 * b for a, b in zip(s.flatten().tolist(), f.flatten().tolist(), strict=True)]
        for s, f in zip(slow.parameters(), fast.parameters(), strict=True)
    ]
    follow(slow, fast, 0.75)
    for found, values in zip(slow.parameters(), expected, strict=True):
        assert found.flatten().tolist() == pytest.approx(values)


def test_a_copy_has_weights_of_its_own() -> None:
    one = nn.Linear(2, 2)
    other = copy_of(one)
    follow(other, nn.Linear(2, 2), 0.0)
    assert other.weight.tolist() != one.weight.tolist()
    assert copy_of(None) is None


def test_still_puts_the_mode_back() -> None:
    layer = nn.Dropout(0.5)
    with pytest.raises(ZeroDivisionError), still(layer):
        assert not layer.training
        raise ZeroDivisionError
    assert layer.training
