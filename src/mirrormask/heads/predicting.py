"""A file through a classifier: every row comes out with its label and probability, a block in memory at a time."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.storage import atomic_file, check_writable
from mirrormask.data.tasks.classified import TEXT_COLUMNS
from mirrormask.data.text.columns import JUDGED_ROWS, choose_column
from mirrormask.data.text.files import check_columns, records
from mirrormask.heads.classifier import Classifier, Prediction

FORMATS = (".jsonl", ".csv", ".tsv")
BLOCK = 4_096
"""Rows held at a time."""

Row = dict[str, Any]


def predict_file(
    classifier: Classifier,
    source: Path | str,
    out: Path | None = None,
    *,
    text: str = "",
    every: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Write every row of a file with `label` and `probability`, and return how many rows there were of each label.

    A row whose text is empty keeps its place and gets no label. Where the file has a column `label` already, the new
    one is `predicted_label`.

    Args:
        classifier: what predicts.
        source: a file of any format, or `-` for stdin.
        out: `.jsonl`, `.csv` or `.tsv`; None prints JSON lines on stdout.
        text: the column of the text; by default the first usual name that is there.
        every: also write the probability of every class.
        progress: called with the number of rows just done.

    Raises:
        DataError: the file cannot be read, or has no such column.
        MirrormaskError: `out` has another ending, or is `source`.
    """
    if out is not None:
        if out.suffix not in FORMATS:
            raise MirrormaskError(f"Predictions are written as {', '.join(FORMATS)}. Got {out}.")
        check_writable(out.parent)
        spare_inputs([source], replaced=[out])
    counts: Counter[str] = Counter()
    total = empty = 0
    rows = records(source)
    first = list(itertools.islice(rows, JUDGED_ROWS))
    column = _text_column(source, first, text)
    with contextlib.ExitStack() as stack:
        stream = sys.stdout if out is None else stack.enter_context(atomic_file(out))
        write = _writer(stream, out, list(first[0]), classifier)
        for block in _blocks(itertools.chain(first, rows)):
            texts = [_text(row, column, source, total + place) for place, row in enumerate(block, 1)]
            there = [place for place, each in enumerate(texts) if each]
            found = dict(zip(there, classifier.predict([texts[place] for place in there]), strict=True))
            for place, row in enumerate(block):
                prediction = found.get(place)
                counts.update(prediction.labels if prediction is not None else ())
                write(row, prediction, every)
            total += len(block)
            empty += len(block) - len(there)
            if progress is not None:
                progress(len(block))
    return {"rows": total, "empty": empty, "labels": dict(counts.most_common())}


def _text_column(source: Path | str, rows: Sequence[Row], asked: str) -> str:
    there = list(rows[0])
    if asked:
        check_columns(source, [asked], there)
        return asked
    usual = next((name for name in TEXT_COLUMNS if name in there), None)
    return usual or choose_column(str(source), rows, [])[0]


def _text(row: Row, column: str, source: Path | str, number: int) -> str:
    value = row.get(column)
    if value is not None and not isinstance(value, str):
        raise DataError(f"{source}, row {number}: {column!r} must be a text. Got {value!r}.")
    return (value or "").strip()


def _blocks(rows: Iterator[Row]) -> Iterator[list[Row]]:
    while block := list(itertools.islice(rows, BLOCK)):
        yield block


def _writer(
    stream: TextIO, out: Path | None, columns: list[str], classifier: Classifier
) -> Callable[[Row, Prediction | None, bool], None]:
    """Return what writes one row in the format of the file."""
    label, chance = ("predicted_label" if "label" in columns else "label"), "probability"
    table = None if out is None or out.suffix == ".jsonl" else csv.writer(stream, **_dialect(out))
    begun: list[bool] = []

    def write(row: Row, prediction: Prediction | None, every: bool) -> None:
        names = prediction.labels if prediction is not None else ()
        shown: Any = list(names) if classifier.several else (names[0] if names else None)
        extra: Row = {label: shown, chance: None if prediction is None else round(prediction.probability, 6)}
        values = prediction.probabilities if prediction is not None else ()
        chances = {name: round(value, 6) for name, value in zip(classifier.labels, values, strict=False)}
        if table is None:
            extra |= {"probabilities": chances} if every else {}
            stream.write(json.dumps({**row, **extra}, ensure_ascii=False) + "\n")
            return
        if not begun:
            begun.append(True)
            table.writerow([*columns, *extra, *(classifier.labels if every else ())])
        cells = {**row, **extra, label: ",".join(names)}
        rest = [chances.get(name) for name in classifier.labels] if every else []
        table.writerow([*(cells.get(name) for name in (*columns, *extra)), *rest])

    return write


def _dialect(out: Path) -> dict[str, Any]:
    return {"delimiter": "\t" if out.suffix == ".tsv" else ",", "lineterminator": "\n"}
