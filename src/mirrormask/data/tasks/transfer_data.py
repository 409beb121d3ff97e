"""SentEval's transfer tasks: sentences, or pairs of them, with a class each, by the names of their data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, one_of
from mirrormask.data.text.sources import describe_source, load_rows


@dataclass(frozen=True)
class TransferSource:
    """Where a task's rows come from, and how they are split.

    Args:
        title: as papers write it.
        dataset: its name.
        splits: the files that make it, in order: one that folds are cut of; train and test, of which folds are cut in
            train alone; or train, validation and test.
        pairs: whether a row is two sentences.
    """

    title: str
    dataset: str
    splits: tuple[str, ...] = ("all",)
    pairs: bool = False


TRANSFER_TASKS: dict[str, TransferSource] = {
    "mr": TransferSource("MR", "senteval/mr"),
    "cr": TransferSource("CR", "senteval/cr"),
    "subj": TransferSource("SUBJ", "senteval/subj"),
    "mpqa": TransferSource("MPQA", "senteval/mpqa"),
    "sst2": TransferSource("SST-2", "senteval/sst2", ("train", "validation", "test")),
    "sst5": TransferSource("SST-5", "senteval/sst5", ("train", "validation", "test")),
    "trec": TransferSource("TREC", "senteval/trec", ("train", "test")),
    "mrpc": TransferSource("MRPC", "senteval/mrpc", ("train", "test"), pairs=True),
}
"""In the order of SimCSE's tables, with SST-5 beside SST-2."""

_WITH_TRAIN = {"mrpc": ("validation",)}  # splits of ours that SentEval has as one


@dataclass(frozen=True)
class TransferData:
    """Row i of `left`, `right` and `labels` is a sentence, or two, and its class.

    Args:
        name: short name, such as "mr".
        left, right: the sentences; `right` is empty where a row is one sentence.
        labels: a number for each class (n,).
        classes: what the numbers stand for.
        splits: the rows of each split, in order.
        source: where it was read from, for messages.
    """

    name: str
    left: tuple[str, ...]
    right: tuple[str, ...]
    labels: NDArray[np.int64] = field(repr=False)
    classes: tuple[str, ...]
    splits: Mapping[str, NDArray[np.int64]] = field(repr=False)
    source: str


def load_transfer(name: str) -> TransferData:
    """Read one task, from the local roots or else from the hub.

    Raises:
        DatasetMissing: the task's data cannot be had.
        DataError: a row has no text or no label, a label was not seen in training, or there is one class only.
    """
    where = TRANSFER_TASKS[one_of("task", name, TRANSFER_TASKS, of="a transfer evaluation")]
    columns = ("sentence1", "sentence2") if where.pairs else ("text",)
    texts: dict[str, list[str]] = {column: [] for column in columns}
    labels: list[str] = []
    splits: dict[str, NDArray[np.int64]] = {}
    source = describe_source(where.dataset, where.splits[0])
    for split in where.splits:
        start = len(labels)
        for part in (split, *(_WITH_TRAIN.get(name, ()) if split == "train" else ())):
            file = describe_source(where.dataset, part)
            for number, row in enumerate(load_rows(where.dataset, part), 1):
                for column in columns:
                    texts[column].append(_text(row, column, number, file))
                labels.append(_label(row, number, file))
        splits[split] = np.arange(start, len(labels))
    known = sorted({labels[row] for row in splits[where.splits[0]]})
    if len(known) < 2:
        raise DataError(f"All rows of {source} have the same label. A transfer task needs two classes or more.")
    for split, rows in splits.items():
        unseen = sorted({labels[row] for row in rows} - set(known))
        if unseen:
            raise DataError(
                f"{describe_source(where.dataset, split)} has the label {unseen[0]!r}, which no row of {source} has, "
                "so no classifier can learn it. Give it rows there, or leave it out."
            )
    return TransferData(
        name,
        tuple(texts[columns[0]]),
        tuple(texts[columns[-1]]) if where.pairs else (),
        np.searchsorted(known, labels).astype(np.int64),
        tuple(known),
        splits,
        source,
    )


def _text(row: dict[str, Any], column: str, number: int, source: str) -> str:
    if column not in row:
        raise DataError(f"{source} has no column {column!r}. It has {', '.join(map(str, row)) or 'none'}.")
    value = row[column]
    if not isinstance(value, str) or not value.strip():
        raise DataError(f"{source}, row {number}: {column!r} must be a text that is not empty. Got {value!r}.")
    return value


def _label(row: dict[str, Any], number: int, source: str) -> str:
    """Return a row's class as text; of TREC's fine names, such as DESC:manner, the coarse part."""
    value = row.get("label", row.get("coarse_label"))
    if value is None or not str(value).strip():
        raise DataError(f"{source}, row {number}: 'label' must be the name or number of a class. Got {value!r}.")
    return str(value).strip().partition(":")[0]
