"""Relevance judgements: lines of query id, document id and gain, as BEIR and TREC write them."""

from __future__ import annotations

import math
from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.text.files import open_text

Judgements = dict[str, dict[str, float]]
"""For each query the gain of every judged document; 0 is judged and not relevant."""


def read_qrels(path: Path | str) -> Judgements:
    """Read judgements: `query document gain`, or TREC's `query 0 document gain`, with tabs or spaces between.

    A first line whose last cell is no number is a header. A negative gain is 0. Of two lines on the same document the
    later one counts.

    Raises:
        DataError: a line has another form.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     file = Path(folder) / "qrels.tsv"
        ...     _ = file.write_text("q1\\td7\\t2\\nq1\\td8\\t0\\n")
        ...     read_qrels(file)
        {'q1': {'d7': 2.0, 'd8': 0.0}}
    """
    found: Judgements = {}
    for number, line in enumerate(open_text(path), 1):
        cells = line.rstrip("\r\n").split("\t") if "\t" in line else line.split()
        if not cells or not line.strip():
            continue
        gain = _number(cells[-1])
        if len(cells) not in (3, 4) or gain is None:
            if number == 1 and len(cells) in (3, 4):
                continue  # a header
            raise DataError(
                f"Line {number} of {path} must be a query id, a document id and a gain, with tabs between. "
                f"Got {line.strip()!r:.80}."
            )
        found.setdefault(cells[0].strip(), {})[cells[-2].strip()] = max(gain, 0.0)
    if not found:
        raise DataError(f"{path} holds no judgements. Give lines of query id, document id and gain.")
    return found


def _number(cell: str) -> float | None:
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None
