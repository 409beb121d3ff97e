from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.search.filters import parse, unknown_column
from mirrormask.search.metadata import Column, ColumnsWriter, names_in, read_column

ROWS: list[dict[str, Any]] = [
    {"year": "1999", "lang": "en", "tags": ["old", "blue"], "free": True, "a b": 1},
    {"year": "2020", "lang": "de", "tags": [], "free": False},
    {"year": "2021", "lang": "en", "price": 3.5, "title": 'He said "no"'},
    {"year": "", "lang": None, "price": 10},
]


@pytest.fixture(scope="module")
def columns(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("columns") / "columns"
    writer = ColumnsWriter()
    for row in ROWS:
        writer.add(row)
    assert writer.write(folder) == names_in(folder)
    assert names_in(folder) == ["year", "lang", "tags", "free", "a b", "price", "title"]
    return lambda name: read_column(folder, name)


@pytest.mark.parametrize(
    ("condition", "met"),
    [
        ("year >= 2020", [1, 2]),
        ("year < 2020.5", [0, 1]),
        ('year = "2020"', [1]),
        ("year = 2020", [1]),
        ("year != 2020", [0, 2, 3]),
        ('lang = "en" and year > 2000', [2]),
        ('lang = "de" or price >= 3', [1, 2, 3]),
        ('lang = "de" or lang = "en" and year = 1999', [0, 1]),
        ('(lang = "de" or lang = "en") and year = 1999', [0]),
        ('not lang = "en"', [1, 3]),
        ('lang in ("en", "fr")', [0, 2]),
        ('lang not in ("en", "fr")', [1, 3]),
        ("price in (10, 3.5)", [2, 3]),
        ('tags contains "old"', [0]),
        ('title contains "SAID"', [2]),
        (r'title contains "\"no\""', [2]),
        ("free = true", [0]),
        ("free = false", [1]),
        ("lang = null", [3]),
        ("price != null", [2, 3]),
        ("price > 3", [2, 3]),
        ('lang >= "e"', [0, 2]),
        ("`a b` = 1", [0]),
        ("NOT (year = 1999 OR year = 2021)", [1, 3]),
        ("lang = 'en'", [0, 2]),
    ],
)
def test_conditions(columns: Any, condition: str, met: list[int]) -> None:
    assert np.flatnonzero(parse(condition).of(columns)).tolist() == met


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("", "at its end: a column is needed"),
        ("year", "at its end: a comparison is needed"),
        ("year >=", "at its end: a value is needed"),
        ("year >= 2020 and", "at its end: a column is needed"),
        ("year >= 2020 2021", "at '2021': 'and', 'or' or the end is needed"),
        ("year like 5", "at 'like 5': one of = != < <= > >= in contains is needed"),
        ("(year = 1", "at its end: '\\)' is needed"),
        ("year = lang", "at 'lang': a value: a number, or a text in quotes is needed"),
        ("year = 1; drop", "at '; drop': a column, a comparison or a value is needed"),
        ("5 = year", "at '5 = year': a column is needed"),
        ('year = "open', "is needed there"),
        ("__import__('os')", "is needed there"),
        ("not " * 60 + "a = 1", "nested 50 deep"),
        ("a = 1 " * 3000, "10,000 characters"),
    ],
)
def test_what_is_no_condition_is_shown(condition: str, says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        parse(condition)


def test_numbers_are_compared_with_numbers(columns: Any) -> None:
    with pytest.raises(MirrormaskError, match="The column 'year' holds numbers, and 'old' is none."):
        parse('year > "old"').of(columns)


def test_unknown_columns_name_those_there_are() -> None:
    assert "no column 'yaer'. Did you mean 'year'? Their columns are: year, lang." in str(
        unknown_column("yaer", ["year", "lang"])
    )
    assert "none but their text" in str(unknown_column("year", []))


def test_a_column_keeps_each_value_once(tmp_path: Path) -> None:
    writer = ColumnsWriter()
    for number in range(1000):
        writer.add({"n": number % 3, "late": "x"} if number >= 500 else {"n": number % 3})
    writer.write(tmp_path / "c")
    late: Column = read_column(tmp_path / "c", "late")
    assert late.values == [None, "x"] and late.codes.tolist() == [0] * 500 + [1] * 500
    assert read_column(tmp_path / "c", "n").numeric and not late.numeric
