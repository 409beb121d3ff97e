from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.tasks.classified import Classified
from mirrormask.heads.class_subsets import choose_classes

COUNTS = {"calm": 3, "glad": 5, "sad": 2, "tired": 4}
PLACES = {"calm": (1.0, 0.1), "glad": (1.0, 0.0), "sad": (-1.0, 0.2), "tired": (0.0, 1.0)}
DATA = Classified(
    "moods.csv",
    tuple(f"{name} {i}" for name, count in COUNTS.items() for i in range(count)),
    tuple((name,) for name, count in COUNTS.items() for _ in range(count)),
)


def means(names: Sequence[str]) -> np.ndarray:
    return np.array([PLACES[name] for name in names])


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("all", ["calm", "glad", "sad", "tired"]),
        ("2", ["glad", "tired"]),
        ("hard-2", ["calm", "glad"]),
        ("hard-3", ["calm", "glad", "tired"]),
        ("tired, calm", ["calm", "tired"]),
    ],
)
def test_which_classes(asked: str, expected: list[str]) -> None:
    assert choose_classes(DATA, asked, means) == expected


def test_a_class_that_is_a_number_is_meant_by_it() -> None:
    data = Classified("stars.csv", ("a", "b", "c"), (("2",), ("1",), ("3",)))
    with pytest.raises(MirrormaskError, match="at least two classes. Got '2'"):
        choose_classes(data, "2", means)
    assert choose_classes(data, "2,3", means) == ["2", "3"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("9", "must be 2 to 4, as many as moods.csv has. Got 9"),
        ("1", "must be 2 to 4"),
        ("hard-9", "must be 2 to 4"),
        ("calm,glat", "no class 'glat'. Did you mean 'glad'"),
        ("calm", "at least two classes. Got 'calm'"),
    ],
)
def test_classes_that_cannot_be_are_named(asked: str, says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        choose_classes(DATA, asked, means)


def test_one_class_is_too_few() -> None:
    data = Classified("moods.csv", ("a", "b"), (("calm",), ("calm",)))
    with pytest.raises(DataError, match="at least two classes, and all rows of moods.csv have the label 'calm'"):
        choose_classes(data, "all", means)
