"""What people think of found texts: a sheet that does not say which text is whose, and its scores once it is filled.

Paper: Garg and Ramakrishnan 2020, "BAE", Table 4: sentiment accuracy, and naturalness from 1 to 5
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mirrormask.attack.outcome import TURNED, Outcome
from mirrormask.core.errors import DataError
from mirrormask.core.seeding import generator
from mirrormask.core.storage import atomic_file, read_json, write_json
from mirrormask.data.text.files import columns_of, records
from mirrormask.reporting.tables import Table

COLUMNS = ("number", "text", "label", "naturalness")
ORIGINAL = "original"
_EACH = 50  # texts of each attack


def key_of(path: Path) -> Path:
    """Return the file that knows which text is whose; raters do not look into it."""
    return path.with_name(f"{path.stem}.key.json")


def write_sheet(path: Path, outcomes: Mapping[str, Sequence[Outcome]], labels: Sequence[str], *, seed: int = 42) -> int:
    """Write a table to fill in, and its key beside it; return the number of texts.

    Args:
        path: a .csv file.
        outcomes: of each attack.
        labels: the names of the classes.
        seed: of the choice and the order.

    Raises:
        DataError: no text was found that could be rated.
    """
    rng = generator(seed, "sheet")
    rows: dict[tuple[str, str], str] = {}
    for name, found in outcomes.items():
        turned = [each for each in found if each.result == TURNED]
        for place in rng.permutation(len(turned))[:_EACH]:
            each = turned[place]
            wanted = labels[each.label] if each.label < len(labels) else str(each.label)
            rows[name, each.found or ""] = wanted
            rows[ORIGINAL, each.text] = wanted
    if not rows:
        raise DataError("The attacks turned no text, so there is nothing to rate.")
    order = [list(rows)[place] for place in rng.permutation(len(rows))]
    with atomic_file(path) as stream:
        table = csv.writer(stream)
        table.writerow(COLUMNS)
        table.writerows([number, text, "", ""] for number, (_, text) in enumerate(order, 1))
    key = [{"from": name, "label": rows[name, text], "text": text} for name, text in order]
    write_json(key_of(path), {"labels": list(labels), "rows": key})
    return len(order)


@dataclass(frozen=True)
class Rated:
    """What raters say of the texts from one place.

    Args:
        name: an attack, or the originals.
        texts: that were rated.
        accuracy: percent whose label they tell rightly.
        naturalness: mean, from 1 to 5.
    """

    name: str
    texts: int
    accuracy: float
    naturalness: float


def score_sheet(path: Path) -> list[Rated]:
    """Return the scores of a filled sheet; rows without a rating are passed over.

    Raises:
        DataError: the sheet is not filled, was changed, or its key is not beside it.
    """
    if not key_of(path).is_file():
        raise DataError(f"{key_of(path)} is not there, and without it nobody knows which text is whose. Put it back.")
    there = columns_of(path)
    if not set(COLUMNS) <= set(there):
        raise DataError(f"{path} has the columns {', '.join(there)}, and a sheet has {', '.join(COLUMNS)}.")
    key = read_json(key_of(path))
    found: dict[str, list[tuple[bool, float]]] = {}
    for line, row in enumerate(records(path, list(COLUMNS)), 1):
        told = [str(row[name] or "").strip() for name in COLUMNS]
        if not told[2] or not told[3]:
            continue
        number = int(told[0]) if told[0].isdecimal() else 0
        if not 1 <= number <= len(key["rows"]) or key["rows"][number - 1]["text"].strip() != told[1]:
            raise DataError(
                f"{path}, row {line}: number and text are not those that were written. Only fill in ratings."
            )
        if told[2] not in key["labels"] or told[3] not in ("1", "2", "3", "4", "5"):
            raise DataError(
                f"{path}, row {line}: the label is one of {', '.join(key['labels'])} and naturalness 1 to 5. "
                f"Got {told[2]!r} and {told[3]!r}."
            )
        entry = key["rows"][number - 1]
        found.setdefault(entry["from"], []).append((told[2] == entry["label"], float(told[3])))
    if not found:
        raise DataError(f"{path} has no ratings yet. Fill in the columns 'label' and 'naturalness' (1 to 5).")
    return [
        Rated(name, len(rated), 100 * float(np.mean([r for r, _ in rated])), float(np.mean([n for _, n in rated])))
        for name, rated in sorted(found.items(), key=lambda pair: pair[0] != ORIGINAL)
    ]


def table_of(rated: Sequence[Rated]) -> Table:
    """Return the scores as a table in the shape of the paper's."""
    rows = tuple((each.name, str(each.texts), f"{each.accuracy:.1f}", f"{each.naturalness:.2f}") for each in rated)
    return Table("People's judgement", ("texts", "rated", "label told rightly %", "naturalness (1–5)"), rows)
