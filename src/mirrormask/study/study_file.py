"""What the page of a study is made of: its tables and its author's words, described in TOML."""

from __future__ import annotations

import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mirrormask.core.errors import MirrormaskError, did_you_mean

PLAIN = "study"
"""The name of a page without a description."""


@dataclass(frozen=True)
class StudyTable:
    """Rows that are held against the baseline together.

    Args:
        label: what the published table is called.
        title: what it is about.
        rows: names of recipes, without the baseline.
        text: what the author says about it.
        task: the score shown beside geometry.
    """

    label: str
    title: str = ""
    rows: Sequence[str] = ()
    text: str = ""
    task: str = ""


@dataclass(frozen=True)
class Study:
    """What a page is made of.

    Args:
        name: of the page.
        title: its heading.
        baseline: the row that others are held against.
        recipes: the folder of the rows' recipes, whose [expect] has the published numbers; empty where there is none.
        text: what the author says about the whole.
        source: what the published numbers are from, such as "the thesis".
        names: what to call rows.
        tables: in order.
        geometry: rows whose alignment and uniformity are shown seed by seed.
        cosines: rows whose cosines during training are drawn.
        negatives: rows that differ in the number of generated negatives.
    """

    name: str
    title: str
    baseline: str
    recipes: str = ""
    text: str = ""
    source: str = "the publication"
    names: Mapping[str, str] = field(default_factory=dict)
    tables: tuple[StudyTable, ...] = ()
    geometry: StudyTable | None = None
    cosines: StudyTable | None = None
    negatives: StudyTable | None = None

    @property
    def rows(self) -> list[str]:
        """Return every row it names, once, the baseline first."""
        return list(dict.fromkeys([self.baseline, *(row for part in self.parts for row in part.rows)]))

    @property
    def parts(self) -> list[StudyTable]:
        """Return everything that is made of rows."""
        return [*self.tables, *(part for part in (self.geometry, self.cosines, self.negatives) if part is not None)]

    def called(self, row: str) -> str:
        """Return what to call a row."""
        return self.names.get(row, row)


def read_study(path: Path) -> Study:
    """Read the description of a study.

    Raises:
        MirrormaskError: the file is not there, not TOML, or has keys that mean nothing.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        near = [p.name for p in path.parent.glob("*.toml")] if path.parent.is_dir() else []
        raise MirrormaskError(f"There is no study {path}.{did_you_mean(path.name, near)}") from None
    except (ValueError, RecursionError, IsADirectoryError) as error:
        raise MirrormaskError(f"The study {path} is not TOML: {error}.") from error
    tables["name"] = path.stem
    _check(tables, Study, path, "", needed=("title", "baseline"))
    names, parts = tables.get("names", {}), tables.get("tables", [])
    if not isinstance(names, dict) or not all(isinstance(called, str) for called in names.values()):
        raise MirrormaskError(f"[names] of the study {path} must give each row a text.")
    if not isinstance(parts, list):
        raise MirrormaskError(f"The tables of the study {path} are written as [[tables]], each with a label.")
    tables["tables"] = tuple(_part(each, path, "tables") for each in parts)
    for key in ("geometry", "cosines", "negatives"):
        if key in tables:
            tables[key] = _part(tables[key], path, key)
    return Study(**tables)


def plain_study(rows: Sequence[str]) -> Study:
    """Return a study of all rows in one table, the first being the baseline, for a page without a description."""
    table = StudyTable(label="All rows", title=f"against {rows[0]}", rows=tuple(rows[1:]))
    return Study(name=PLAIN, title="Runs over seeds", baseline=rows[0], tables=(table,))


def _part(table: Any, path: Path, where: str) -> StudyTable:
    if not isinstance(table, dict):
        raise MirrormaskError(f"[{where}] of the study {path} must be a table.")
    rows = table.get("rows", [])
    if not isinstance(rows, list) or not all(isinstance(row, str) for row in rows):
        raise MirrormaskError(f"The 'rows' in [{where}] of the study {path} must be a list of names.")
    _check(table, StudyTable, path, f"[{where}] of ", needed=("label",))
    return StudyTable(**table)


def _check(table: dict[str, Any], kind: type[Any], path: Path, where: str, *, needed: Sequence[str]) -> None:
    """Refuse keys that mean nothing, values that are no texts where they should be, and what is missing."""
    known = typing.get_type_hints(kind)
    inside = f"{where}the study {path}"
    inside = inside[0].upper() + inside[1:]
    for key, value in table.items():
        if key not in known:
            raise MirrormaskError(f"{inside} has no key {key!r}.{did_you_mean(key, known)}")
        if known[key] is str and not isinstance(value, str):
            raise MirrormaskError(f"{inside} needs its {key!r} as a text. Got {value!r}.")
    for key in needed:
        if key not in table:
            raise MirrormaskError(f"{inside} needs a {key!r}, as a text.")
