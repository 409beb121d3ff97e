"""Discourse dependency trees over elementary units, in the JSON of SciDTB.

Paper: Yang and Li 2018, "SciDTB: Discourse Dependency TreeBank for Scientific Abstracts"
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.data.tasks.dependencies import check_tree
from mirrormask.data.text.compression import READ_ERRORS, damaged, open_bytes

UNANNOTATED = -2
"""The head of a unit that the annotators left out; it takes part in the text and counts nowhere."""

_SENTENCE_END = "<S>"


@dataclass(frozen=True)
class Discourse:
    """A text in elementary discourse units, with the tree over them.

    Args:
        name: the file it came from.
        units: the texts of the units, in order.
        heads: the head of each unit, counted from 0, `ROOT` (-1) or `UNANNOTATED` (-2) (n,).
        relations: how each unit depends on its head.
    """

    name: str
    units: tuple[str, ...]
    heads: NDArray[np.int64]
    relations: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.units)


def read_scidtb(path: Path | str) -> Iterator[Discourse]:
    """Yield the documents of a file, or of every `.dep` and `.json` file in a folder, by name.

    Raises:
        DataError: there are none, or one is no such document; the message names the file and the unit.
    """
    path = Path(path)
    if not path.is_dir():
        yield read_discourse(path)
        return
    endings = (".dep", ".json", ".dep.gz", ".json.gz")
    files = sorted(file for file in path.iterdir() if file.name.endswith(endings))
    if not files:
        raise DataError(f"{path} has no .dep or .json file. Give a SciDTB file, or a folder of them.")
    for file in files:
        yield read_discourse(file)


def read_discourse(path: Path) -> Discourse:
    """Return the document of one file."""
    try:
        with open_bytes(path) as stream:
            content = json.loads(stream.read().decode("utf-8-sig"))
    except READ_ERRORS as error:
        raise damaged(path, error) from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 (byte {error.start}). Give a SciDTB file.") from error
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {error.lineno}: this is no JSON: {error.msg}. Give a SciDTB file.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{path} is nested too deeply, or holds a number of too many digits. Give a SciDTB file."
        ) from error
    rows = content.get("root") if isinstance(content, dict) else None
    if not isinstance(rows, list) or len(rows) < 2:
        raise DataError(f"{path} must hold a list 'root' of the root and at least one unit. Give a SciDTB file.")
    units, heads, relations = [], [], []
    for number, row in enumerate(rows):
        identity, parent, text = _fields(row, path, number)
        if identity != number:
            raise DataError(f"{path}, unit {number}: units are numbered 0, 1, 2 … in order. Got id {identity}.")
        if number == 0:
            continue
        if not -1 <= parent < len(rows):
            raise DataError(
                f"{path}, unit {number}: the parent must be a unit from 0 to {len(rows) - 1}. Got {parent}."
            )
        units.append(text)
        heads.append(parent - 1)  # the root, 0, becomes -1, and the missing parent, -1, becomes -2
        relations.append(str(row.get("relation", "")))
    check_tree(heads, list(range(1, len(rows))), str(path), kind="unit", place="unit")
    return Discourse(path.name, tuple(units), np.array(heads, dtype=np.int64), tuple(relations))


def _fields(row: Any, path: Path, number: int) -> tuple[int, int, str]:
    try:
        identity, parent, text = int(row["id"]), int(row["parent"]), str(row["text"])
    except (KeyError, TypeError, ValueError):
        raise DataError(
            f"{path}, unit {number}: a unit has 'id', 'parent' and 'text', both numbers whole. Got {row!r:.80}."
        ) from None
    text = " ".join(text.replace(_SENTENCE_END, " ").split())
    if not text:
        raise DataError(f"{path}, unit {number}: the text is empty. Give every unit a text.")
    return identity, parent, text
