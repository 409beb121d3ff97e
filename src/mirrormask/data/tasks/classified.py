"""Texts with a class each, or with several: read from any table, checked row by row.

Numbers in a label column are names like any other: `1` and `1.0` are the class "1". `names` gives them better ones.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, did_you_mean
from mirrormask.core.wording import counted
from mirrormask.data.text.columns import LABEL_COLUMNS
from mirrormask.data.text.files import check_columns, records
from mirrormask.data.text.sources import find_split, load_rows

TEXT_COLUMNS = ("text", "sentence", "content", "review", "utterance", "comment", "tweet")
"""Columns that are taken for the text where none is named, likelier ones first."""

MORE_LABEL_COLUMNS = (*LABEL_COLUMNS, "labels", "emotion")

_SEPARATORS = re.compile(r"[,;|]")
_DATASET = re.compile(r"([\w.-]+(?:/[\w.-]+)+?)(?::([\w.-]+))?")


@dataclass(frozen=True)
class Classified:
    """Texts with their classes.

    Args:
        source: where they come from, for messages.
        texts: one a row.
        labels: the classes of each text, by name; one each unless `several`.
        several: whether a text may have several classes, or none.
    """

    source: str
    texts: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    several: bool = False

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def counts(self) -> dict[str, int]:
        """Return how many texts each class has, by its name, in the order of names (numbers by their value)."""
        found = Counter(label for each in self.labels for label in each)
        return dict(sorted(found.items(), key=lambda item: _order(item[0])))

    def take(self, rows: Iterable[int]) -> Classified:
        """Return some of the rows."""
        chosen = list(rows)
        texts = tuple(self.texts[row] for row in chosen)
        return replace(self, texts=texts, labels=tuple(self.labels[row] for row in chosen))

    def of_classes(self, classes: Iterable[str]) -> Classified:
        """Return the rows whose classes are all among these."""
        kept = set(classes)
        return self.take(row for row, each in enumerate(self.labels) if set(each) <= kept)

    def numbers(self, classes: Sequence[str]) -> NDArray[np.int64]:
        """Return the class of each row as its place in `classes` (n,); (n, classes) of 0 and 1 where several may be.

        Raises:
            DataError: a row has a class that is not among them.
        """
        place = {name: number for number, name in enumerate(classes)}
        unknown = [name for name in self.counts if name not in place]
        if unknown:
            listed = ", ".join(map(repr, unknown[:5])) + (" …" if len(unknown) > 5 else "")
            raise DataError(
                f"{self.source} has labels that the classifier has not learned: {listed}."
                f"{did_you_mean(unknown[0], place)} It knows {', '.join(list(place)[:12])}"
                f"{' …' if len(place) > 12 else ''}. Leave those rows out with --skip-unseen, or give numbers their "
                "names with --names."
            )
        if not self.several:
            return np.array([place[each[0]] for each in self.labels], dtype=np.int64)
        hot = np.zeros((len(self), len(classes)), dtype=np.int64)
        for row, each in enumerate(self.labels):
            hot[row, [place[name] for name in each]] = 1
        return hot

    def once(self) -> tuple[Classified, list[str]]:
        """Return every text once with each of its labels, and what was found, in words."""
        first = {(text, each): row for row, (text, each) in reversed(list(enumerate(self._keys())))}
        kept = self.take(sorted(first.values()))
        notes = []
        if len(kept) < len(self):
            notes.append(f"{counted(len(self) - len(kept), 'row')} that repeat another left out")
        twice = len(kept) - len(set(kept.texts))
        if twice:
            notes.append(f"{counted(twice, 'text')} that occur with another label too")
        return kept, notes

    def _keys(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        yield from zip(self.texts, self.labels, strict=True)


def read_classified(
    source: Path | str,
    *,
    text: str = "",
    label: str = "",
    several: bool = False,
    names: Sequence[str] = (),
) -> Classified:
    """Read texts with labels.

    Args:
        source: a file of any format, or a dataset as `owner/name:split` (split `train` if not said).
        text: the column of the text; by default the first usual name that is there.
        label: the column of the label; by default likewise.
        several: a text may have several labels, with a comma, semicolon or bar between them; a list in JSON says so
            by itself.
        names: of the classes 0, 1, 2 …, where the column holds their numbers.

    Raises:
        DataError: no such file or column, a row without text or label, or labels that are no classes.
    """
    rows = rows_of(source)
    first = next(rows)
    there = list(first)
    text_column = _column(source, there, text, TEXT_COLUMNS, "text", "--text-column")
    label_column = _column(source, there, label, MORE_LABEL_COLUMNS, "label", "--label-column")
    texts, labels, listed = [], [], several
    for number, row in enumerate(itertools.chain([first], rows), 1):
        where = f"{source}, row {number}"
        check_columns(source, (text_column, label_column), list(row), f" in row {number}")
        texts.append(text_cell(row[text_column], text_column, where))
        cell = row[label_column]
        listed = listed or isinstance(cell, list)
        labels.append(_labels(cell, label_column, where, several=several))
    found = [tuple(dict.fromkeys(_named(each, names, str(source)) for each in row)) for row in labels]
    _check_classes(found, label_column, str(source))
    return Classified(str(source), tuple(texts), tuple(found), listed)


def rows_of(source: Path | str) -> Iterator[dict[str, Any]]:
    """Return the rows of a file, or of a dataset as `owner/name:split`."""
    dataset = _DATASET.fullmatch(str(source))
    if dataset is not None and not Path(source).exists() and (dataset[2] or find_split(dataset[1], "train")):
        return load_rows(dataset[1], dataset[2] or "train")
    return records(source)


def _column(source: Path | str, there: Sequence[str], asked: str, usual: Sequence[str], role: str, option: str) -> str:
    if asked:
        check_columns(source, [asked], there)
        return asked
    names = {column.strip().lower(): column for column in reversed(there)}
    found = next((names[name] for name in usual if name in names), None)
    if found is None:
        raise DataError(
            f"The columns of {source} are {', '.join(map(repr, there))}, and none of them is plainly the {role}. "
            f"Name it with {option}."
        )
    return found


def text_cell(value: Any, column: str, where: str) -> str:
    """Return a cell that must hold a text."""
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{where}: {column!r} must be a text that is not empty. Got {value!r}.")
    return value.strip()


def _labels(value: Any, column: str, where: str, *, several: bool) -> tuple[str, ...]:
    """Return the labels in a cell; none is an error unless a text may have several, and so none."""
    if isinstance(value, list):
        cells: list[Any] = value
    elif several and isinstance(value, str):
        cells = [part for part in _SEPARATORS.split(value) if part.strip()]
    else:
        cells = [] if several and value is None else [value]
    return tuple(_label(cell, column, where) for cell in cells)


def _label(value: Any, column: str, where: str) -> str:
    empty = value is None or (isinstance(value, float) and math.isnan(value))
    name = "" if empty else f"{value:g}" if isinstance(value, float) else str(value).strip()
    if not name or name.lower() == "nan" or isinstance(value, (dict, list)):
        raise DataError(f"{where}: {column!r} must be a label that is not empty. Got {value!r}.")
    return name


def _named(label: str, names: Sequence[str], source: str) -> str:
    if not names or label in names:
        return label
    number = int(label) if re.fullmatch(r"\d+", label) else -1
    if not 0 <= number < len(names):
        raise DataError(
            f"{source} has the label {label!r}, and --names has names for 0 to {len(names) - 1} "
            f"({', '.join(names)}). Give a name for every number, counted from 0."
        )
    return names[number]


def _check_classes(labels: Sequence[tuple[str, ...]], column: str, source: str) -> None:
    """Refuse a column of scores, or of several labels a cell that were taken for one."""
    different = {label for each in labels for label in each}
    parts = {label: [part.strip() for part in _SEPARATORS.split(label)] for label in different}
    joined = next((label for label, each in parts.items() if len(each) > 1 and different.issuperset(each)), None)
    if joined is not None:
        raise DataError(
            f"The column {column!r} of {source} holds {joined!r} and its parts alone too: these are several labels a "
            "text. Read them so with --several."
        )
    fractions = [label for label in different if re.fullmatch(r"-?\d*\.\d+(e-?\d+)?", label)]
    if len(fractions) > len(different) / 2 and len(different) > 2:
        raise DataError(
            f"The column {column!r} of {source} holds numbers such as {fractions[0]}, which are scores and no classes. "
            "Name a column of classes with --label-column."
        )


def _order(name: str) -> tuple[int, float, str]:
    """Return by what names are sorted: numbers by their value, before words."""
    return (0, float(name), name) if re.fullmatch(r"-?\d+", name) else (1, 0.0, name)
