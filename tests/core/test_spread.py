from __future__ import annotations

import itertools

import pytest

from mirrormask.core.spread import spread_evenly


@pytest.mark.parametrize(("count", "most"), [(1, 1), (10, 4), (10, 10), (3, 100), (1_000_000, 7), (11, 10)])
def test_as_many_as_asked_for_from_end_to_end(count: int, most: int) -> None:
    found = spread_evenly(count, most).tolist()
    assert len(found) == min(count, most)
    assert found[0] == 0
    assert found == sorted(set(found))
    if len(found) > 1:
        assert found[-1] == count - 1
        gaps = [b - a for a, b in itertools.pairwise(found)]
        assert max(gaps) - min(gaps) <= 1
