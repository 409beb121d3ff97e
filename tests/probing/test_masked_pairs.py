from __future__ import annotations

import itertools

import numpy as np
import pytest

from mirrormask.probing.masked_pairs import NONE, MaskedInputs, masked_inputs
from mirrormask.probing.units import Units


def units(*sizes: int) -> Units:
    each = np.array(sizes)
    return Units(np.arange(sum(sizes) + 2), 1 + np.cumsum(each) - each, each)


def reads(inputs: MaskedInputs) -> set[tuple[int, frozenset[int], int, int]]:
    """Every state that is read: sentence, masked units, position, column."""
    found = set()
    for row, place, column in zip(inputs.row, inputs.place, inputs.column, strict=True):
        masked = frozenset({int(inputs.first[row]), int(inputs.second[row])} - {NONE})
        found.add((int(inputs.source[row]), masked, int(place), int(column)))
    return found


@pytest.mark.parametrize("reach", [None, 1, 2, 9])
def test_every_pair_once_and_both_ends_read(reach: int | None) -> None:
    sentences = [units(1, 2, 1), units(2, 2), units(4), units(1, 1, 1, 1)]
    inputs = masked_inputs(sentences, reach=reach)
    expected = set()
    for number, each in enumerate(sentences):
        places = [range(s, s + k) for s, k in zip(each.starts, each.sizes, strict=True)]
        for i, j in itertools.product(range(len(each)), repeat=2):
            if abs(i - j) <= (reach or 99):
                expected |= {(number, frozenset({i, j}), p, NONE if i == j else j) for p in places[i]}
    assert reads(inputs) == expected
    assert len(inputs.row) == len(expected)
    if reach is None:
        assert len(inputs) == sum(len(each) * (len(each) + 1) // 2 for each in sentences)


def test_a_kept_root_is_read_but_never_masked() -> None:
    rooted = units(1, 2, 1).with_root()
    inputs = masked_inputs([rooted], kept_root=True)
    assert len(inputs) == 3 * 4 // 2 + 1
    assert 0 not in inputs.first and 0 not in inputs.second
    at_root = {(masked, column) for _, masked, place, column in reads(inputs) if place == 0}
    assert at_root == {(frozenset(), NONE), *((frozenset({j}), j) for j in (1, 2, 3))}


def test_references_come_first() -> None:
    inputs = masked_inputs([units(1, 2, 1).with_root(), units(2, 2).with_root()], kept_root=True)
    assert np.all(np.diff(inputs.row) >= 0)
    known: set[tuple[int, int]] = set()
    for row, place, column in zip(inputs.row, inputs.place, inputs.column, strict=True):
        if column == NONE:
            known.add((int(inputs.source[row]), int(place)))
        else:
            assert (int(inputs.source[row]), int(place)) in known
