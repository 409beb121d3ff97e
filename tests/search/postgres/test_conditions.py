"""Conditions in SQL are true for the documents for which they are true in an index on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.search.filters import parse
from mirrormask.search.metadata import ColumnsWriter, names_in, read_column
from mirrormask.search.postgres.conditions import numbers_of, to_sql

_ROWS: list[dict[str, Any]] = [
    {"year": "1999", "lang": "en", "tags": ["a", "b"], "mixed": 3, "flag": True, "name": "Äpfel und Öl"},
    {"year": 2004, "lang": "de", "tags": [], "mixed": "3", "flag": False, "name": "apfel"},
    {"year": "2010.5", "lang": None, "tags": ["b", 7, "7.0"], "mixed": "three", "flag": "true", "name": ""},
    {"year": None, "lang": "", "tags": None, "mixed": 3.5, "flag": 1, "name": "50% 'quoted' \\ \"text\""},
    {"lang": "EN", "mixed": [3, "x"], "flag": None, "name": "日本語"},
    {"year": "1_000", "lang": "fr", "tags": "a", "mixed": True, "name": "null"},
    {"year": -1e300, "lang": "en ", "tags": ["A"], "mixed": "-3", "name": 0.1},
]
_CONDITIONS = """
year = 1999|year = "1999"|year != 2004|year >= 2004|year < 2004|year = null|year != null|year in (1999, 2010.5)
year not in (1999)|year <= 1000|year contains "99"|lang = "en"|lang != "en"|lang = null|lang in ("en", "de", null)
lang < "en"|lang >= "en"|lang contains "E"|not lang = "de"|tags = "a"|tags contains "b"|tags != "b"|tags = 7
tags contains 7|tags = null|tags contains "A"|mixed = 3|mixed = "3"|mixed > "3"|mixed = true|mixed in (3.5, "x")
mixed contains 3|flag = true|flag = "true"|flag = 1|flag != false|flag = null|name contains "äPFEL"|name = ""
name contains "%"|name contains "'quoted'"|name = "日本語"|name contains "null"|name = 0.1|name = "0.1"|name > "a"
year >= 2000 and (lang = "de" or tags contains "b")|not (year < 2005 or mixed = 3)|`lang` = "fr" or name = null
"""


def held(tmp_path: Path) -> Callable[[str], Any]:
    writer = ColumnsWriter()
    for row in _ROWS:
        writer.add(row)
    writer.write(tmp_path / "columns")
    return lambda name: read_column(tmp_path / "columns", name)


def test_sql_says_what_the_index_on_disk_says(sql: Callable[..., list[Any]], tmp_path: Path) -> None:
    columns = held(tmp_path)
    numeric = {name: columns(name).numeric for name in names_in(tmp_path / "columns")}
    assert numeric == {"year": True, "lang": False, "tags": False, "mixed": False, "flag": False, "name": False}
    rows = ", ".join(["(%s, %s::jsonb, %s::jsonb)"] * len(_ROWS))
    values = [
        each for number, row in enumerate(_ROWS) for each in (number, json.dumps(row), json.dumps(numbers_of(row)))
    ]
    asked = [text for line in _CONDITIONS.strip().splitlines() for text in line.split("|")]
    assert len(asked) == 49
    parts = [to_sql(parse(text), numeric, 'COLLATE "C.utf8"') for text in asked]
    wanted = ", ".join(f"array_agg(number ORDER BY number) FILTER (WHERE {part.sql})" for part in parts)
    given = [value for part in parts for value in part.values]
    (found,) = sql(f"SELECT {wanted} FROM (VALUES {rows}) AS held(number, metadata, numbers)", [*given, *values])
    for text, numbers in zip(asked, found, strict=True):
        assert (numbers or []) == np.flatnonzero(parse(text).of(columns)).tolist(), text


def test_what_cannot_be_asked() -> None:
    with pytest.raises(MirrormaskError, match="no column 'yeer'. Did you mean 'year'?"):
        to_sql(parse("yeer = 1"), {"year": True})
    with pytest.raises(MirrormaskError, match="The column 'year' holds numbers, and 'x' is none"):
        to_sql(parse("year > 'x'"), {"year": True})


def test_values_are_never_part_of_the_sql() -> None:
    evil = "'; DROP TABLE x; --"
    for text in (f'a = "{evil}"', f'`{evil}` contains "{evil}"', f'`{evil}` < "{evil}"', f'a in ("{evil}", 3)'):
        assert "DROP" not in to_sql(parse(text), {"a": False, evil: False}).sql


def test_numbers_that_json_cannot_hold() -> None:
    assert numbers_of({"a": float("nan"), "b": "inf", "c": True, "d": None, "e": ["x"]}) == {
        "b": 1.7976931348623157e308,
        "c": 1.0,
    }
