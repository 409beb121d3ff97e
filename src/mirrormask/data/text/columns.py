"""Which column of a table holds its text: told by name, else by how long and how varied its cells are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mirrormask.core.errors import DataError
from mirrormask.data.text.sentences import count_words

JUDGED_ROWS = 200
"""Rows by which columns are judged."""

LABEL_COLUMNS = ("label", "class", "category", "intent", "target", "topic", "sentiment")
"""Columns that are taken for classes, likelier ones first; numbers are as good as names there."""

_USUAL = ("text", "sentence")
_PLAINLY = 2.0  # how many times longer than any other column the texts must be


def choose_column(name: str, rows: Sequence[dict[str, Any]], notes: list[str]) -> list[str]:
    """Return the column to read where none was named.

    Args:
        name: of the source, for messages.
        rows: its first rows.
        notes: takes a sentence on what was chosen, where that was not plain from the names.

    Raises:
        DataError: two columns or more may be meant.

    Example:
        >>> rows = [{"id": str(i), "stars": "4", "review": f"the {i}th stay was as calm as hoped"} for i in range(9)]
        >>> choose_column("reviews.csv", rows, notes := []), notes
        (['review'], ["Of the columns id, stars, review the texts in 'review' are the longest, so it is read"])
    """
    there = list(rows[0])
    if len(there) == 1:
        return there
    usual = next((each for each in _USUAL if each in there), None)
    if usual is not None:
        return [usual]
    weight = {key: _weight([row.get(key) for row in rows]) for key in there}
    best, second = sorted(there, key=weight.__getitem__, reverse=True)[:2]
    if weight[best] >= _PLAINLY * max(1.0, weight[second]):
        notes.append(f"Of the columns {', '.join(there)} the texts in {best!r} are the longest, so it is read")
        return [best]
    likely = [key for key in there if _PLAINLY * weight[key] > max(1.0, weight[best])] or there
    raise DataError(
        f"{name} has several columns ({', '.join(there)}), and {', '.join(likely)} may hold the text. "
        f"Say which to read, such as --column {likely[0]}."
    )


def warn_of_numbers(name: str, columns: Sequence[str], rows: Sequence[dict[str, Any]], notes: list[str]) -> None:
    """Add a note on each column whose cells are numbers, which are no texts to learn from."""
    for key in columns:
        if len(columns) > 1 and key.lower() in LABEL_COLUMNS:
            continue
        cells = [cell for row in rows if isinstance(cell := row.get(key), str) and cell.strip()]
        if cells and sum(map(_is_number, cells)) > len(cells) / 2:
            notes.append(f"Warning: the column {key!r} of {name} holds numbers, not texts")


def _weight(cells: Sequence[Any]) -> float:
    """Return the mean number of words of a column's cells times the share of different ones; 0 for numbers."""
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip() and not _is_number(cell)]
    if 2 * len(texts) < len(cells):
        return 0.0
    words = sum(count_words(text) for text in texts) / len(texts)
    return words * len(set(texts)) / len(texts)


def _is_number(cell: str) -> bool:
    try:
        float(cell.strip().strip("$€£%").replace(",", ""))
    except ValueError:
        return False
    return True
