from __future__ import annotations

import pytest

from mirrormask.core.wording import counted, passes


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        (0, "row", "0 rows"),
        (1, "row", "1 row"),
        (1234, "pass", "1,234 passes"),
        (1, "pass", "1 pass"),
        (1.0, "minute", "1 minute"),
        (0.005, "minute", "0.005 minutes"),
        (2, "batch", "2 batches"),
    ],
)
def test_a_number_with_its_unit(number: float, unit: str, expected: str) -> None:
    assert counted(number, unit) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "less than 1 % of it"), (0.04, "4 % of it"), (0.999, "1 pass over it"), (2.34, "2.3 passes over it")],
)
def test_a_small_share_is_no_pass(share: float, expected: str) -> None:
    assert passes(share, "it") == expected
