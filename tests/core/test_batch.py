from __future__ import annotations

import numpy as np

from mirrormask.core.batch import Frame


def test_rows_are_framed_together_as_one_by_one() -> None:
    frame = Frame(np.array([101, 7]), np.array([102]))
    rows = [np.arange(length, dtype=np.uint16) for length in (5, 0, 2, 9, 1)]
    for max_length in (3, 4, 7, 50):
        found = frame.around_each(rows, max_length)
        expected = [frame.around(ids, max_length) for ids in rows]
        assert [ids.tolist() for ids in found] == [ids.tolist() for ids in expected]
        assert {ids.dtype for ids in found} == {ids.dtype for ids in expected}
    assert frame.around_each([], 9) == []
