from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.probing.reduction import REDUCTIONS, reduced


@pytest.mark.parametrize("how", REDUCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_reduction_is_that_of_a_loop(how: str, axis: int) -> None:
    values = np.random.default_rng(0).normal(size=(6, 6)).astype(np.float32)
    sizes = np.array([1, 3, 2])
    loop: dict[str, Callable[[Any], Any]] = {"mean": np.mean, "max": np.max, "sum": np.sum, "first": lambda v: v[0]}
    other = np.moveaxis(values, axis, 0)
    expected = [[loop[how](other[a:b, k]) for k in range(6)] for a, b in ((0, 1), (1, 4), (4, 6))]
    found = reduced(values, sizes, how, axis=axis)
    assert found.dtype == np.float32
    np.testing.assert_allclose(np.moveaxis(found, axis, 0), expected, rtol=1e-5)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(MirrormaskError, match="'reduction' of sub-words must be one of mean, first, max, sum"):
        reduced(np.ones(1), np.array([1]), "median", axis=0)
