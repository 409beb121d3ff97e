from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from mirrormask.core import errors
from mirrormask.core.errors import MirrormaskError, above, at_least, between, did_you_mean, one_of


@pytest.mark.parametrize(
    ("check", "good", "bad", "says"),
    [
        (lambda v: above("rate", v, 0, of="a run"), [0.1, 5], [0, -1, math.nan], "must be above 0. Got"),
        (lambda v: at_least("rows", v, 2, of="a run"), [2, 3], [1, math.nan], "must be at least 2. Got"),
        (
            lambda v: between("share", v, 0, 1, of="a run"),
            [0, 0.99],
            [1, -0.1, math.nan],
            "at least 0 and below 1. Got",
        ),
    ],
)
def test_numbers_in_their_bounds(check: Callable[[Any], Any], good: list[Any], bad: list[Any], says: str) -> None:
    for value in good:
        assert check(value) == value
    for value in bad:
        with pytest.raises(MirrormaskError, match=rf"of a run .*{re.escape(says)} {re.escape(repr(value))}\."):
            check(value)


def test_one_of_offers_the_nearest() -> None:
    assert one_of("mode", "fast", ["fast", "slow"], of="a run") == "fast"
    with pytest.raises(MirrormaskError, match=r"one of fast, slow\. Got 'slwo'\. Did you mean 'slow'\?"):
        one_of("mode", "slwo", ["fast", "slow"], of="a run")
    with pytest.raises(MirrormaskError, match=r"Got 'zzz'\.$"):
        one_of("mode", "zzz", ["fast", "slow"], of="a run")


def test_did_you_mean_says_nothing_without_a_near_name() -> None:
    assert did_you_mean("zzz", ["info-nce"]) == ""
    assert did_you_mean("", []) == ""


def test_every_kind_of_error_has_its_own_exit_code() -> None:
    kinds = [errors.MirrormaskError, errors.DataError, errors.ModelError, errors.TrainingError]
    assert [kind.exit_code for kind in kinds] == [2, 3, 4, 5]
    assert all(issubclass(kind, MirrormaskError) for kind in kinds)


def test_a_missing_extra_says_how_to_install_it() -> None:
    said = str(errors.MissingExtra("pyarrow", "data", "Reading .parquet"))
    assert said == "Reading .parquet needs the package 'pyarrow'. Install it with: pip install \"mirrormask[data]\""


def test_infinity_is_above_nothing() -> None:
    for check in (above, at_least):
        with pytest.raises(MirrormaskError, match=r"The 'minutes' of pretraining must be finite\. Got inf\."):
            check("minutes", float("inf"), 0, of="pretraining")
