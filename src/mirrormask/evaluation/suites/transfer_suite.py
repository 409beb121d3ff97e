"""Transfer: can a plain classifier tell the classes of sentences from their vectors?

Paper: Conneau and Kiela 2018, "SentEval: An Evaluation Toolkit for Universal Sentence Representations"

The vectors are frozen and taken as they are. A logistic regression is fitted on them, its L2 penalty chosen among
1e-5 … 1e-2 by accuracy on rows that it did not see: inside each of ten outer folds by ten inner ones (MR, CR, SUBJ,
MPQA), by ten folds of the training rows (TREC, MRPC), or on the validation rows (SST). A pair of sentences is |u − v|
and u · v. SentEval fits with Adam and stops early; here every fit goes to its end, which needs no further choice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, at_least
from mirrormask.data.tasks.transfer_data import TRANSFER_TASKS, TransferData, load_transfer
from mirrormask.evaluation.logistic import Regressions
from mirrormask.evaluation.statistics.resamples import Counts, Statistic, mean_of
from mirrormask.evaluation.suites import Suite, SuiteTask, suites
from mirrormask.evaluation.vectors import TextVectors

PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
"""Of which the best is taken: `reg = [10**t for t in range(-5, -1)]` in SentEval's validation.py."""

FOLD_SEED = 1111
"""SentEval's own; the folds are these whatever the seed of an evaluation, so that numbers can be compared."""

Array = NDArray[np.int64]


@suites.register("transfer")
class Transfer(Suite):
    """Classify sentences by their frozen vectors: MR, CR, SUBJ, MPQA, SST-2, SST-5, TREC and MRPC.

    Args:
        folds: outer and inner folds (SentEval takes 10 to report, 5 to try).
    """

    title = "Transfer"
    unit = "texts"
    primary = "accuracy_percent"
    meaning = (
        "The share of sentences whose class a logistic regression tells from their frozen vectors, by SentEval's "
        "protocol: every sentence is classified by a regression that did not learn from it."
    )
    tasks: ClassVar[Mapping[str, str]] = {name: where.title for name, where in TRANSFER_TASKS.items()}

    def __init__(self, folds: int = 10) -> None:
        self.folds = at_least("folds", folds, 2, of="the suite transfer")

    def load(self, name: str) -> SuiteTask:
        """Read one task."""
        return TransferTask(load_transfer(name), self.folds)


class TransferTask(SuiteTask):
    """A transfer task, read.

    Args:
        data: its rows.
        folds: to cut where the data is not split.
    """

    def __init__(self, data: TransferData, folds: int) -> None:
        self.data = data
        first, last = (data.splits[key] for key in (next(iter(data.splits)), list(data.splits)[-1]))
        self.scored = last
        fewest = int(np.bincount(data.labels[first], minlength=len(data.classes)).min())
        self.folds = min(folds, fewest - 1 if len(data.splits) == 1 else fewest)
        if len(data.splits) < 3 and self.folds < 2:
            raise DataError(
                f"{data.source} has a class with {fewest} rows, too few to cut folds of. Give it at least three."
            )
        super().__init__(data.name, TRANSFER_TASKS[data.name].title, len(last), data.source)

    def texts(self) -> Iterable[str]:
        """Return every sentence."""
        yield from self.data.left
        yield from self.data.right

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return the accuracy, and F1 of the second class where rows are pairs."""
        found = vectors.of(self.data.left)
        if self.data.right:
            other = vectors.of(self.data.right)
            found = np.concatenate([np.abs(found - other), found * other], axis=1)
        predicted = predictions(found, self.data, folds=self.folds)
        gold = self.data.labels[self.scored]
        statistics: dict[str, Statistic] = {"accuracy_percent": mean_of((predicted == gold).astype(np.float64))}
        if self.data.right:
            statistics["f1_percent"] = _f1_of(predicted == 1, gold == 1)
        return statistics


def predictions(features: NDArray[np.floating], data: TransferData, *, folds: int = 10) -> Array:
    """Return the class that a fit without it gives every scored row.

    Args:
        features: of all rows (n, d).
        data: their classes and splits.
        folds: outer and inner.
    """
    fits = Regressions(features, data.labels, device="cuda" if torch.cuda.is_available() else "cpu")
    labels, splits = data.labels, list(data.splits.values())
    if len(splits) == 3:
        train, held = _rows(len(labels), splits[0]), [splits[1]]
        best = _best(fits, labels, [train], held)
        return fits.fit(train[:, None], np.array([PENALTIES[best]])).predicted()[splits[2], 0]
    if len(splits) == 2:
        held = cut(labels, splits[0], folds)
        best = _best(fits, labels, [_rows(len(labels), np.setdiff1d(splits[0], each)) for each in held], held)
        train = _rows(len(labels), splits[0])
        return fits.fit(train[:, None], np.array([PENALTIES[best]])).predicted()[splits[1], 0]
    outer = cut(labels, splits[0], folds)
    seen, inside, chosen = [], [], []
    for fold in outer:
        rest = np.setdiff1d(splits[0], fold)
        inner = cut(labels, rest, folds)
        inside.append(inner)
        seen += [_rows(len(labels), np.setdiff1d(rest, each)) for each in inner]
    right = _accuracies(fits, labels, seen, [each for inner in inside for each in inner])
    for scores in np.split(right, np.cumsum([len(inner) for inner in inside])[:-1]):
        chosen.append(PENALTIES[int(scores.mean(axis=0).argmax())])
    outside = np.stack([_rows(len(labels), np.setdiff1d(splits[0], fold)) for fold in outer], axis=1)
    found = fits.fit(outside, np.array(chosen)).predicted()
    predicted = np.empty(len(labels), dtype=np.int64)
    for number, fold in enumerate(outer):
        predicted[fold] = found[fold, number]
    return predicted


def cut(labels: Array, rows: Array, folds: int) -> list[Array]:
    """Return the rows in so many folds, every class spread over all of them."""
    from sklearn.model_selection import StratifiedKFold

    cutter = StratifiedKFold(folds, shuffle=True, random_state=FOLD_SEED)
    return [rows[held] for _, held in cutter.split(rows, labels[rows])]


def _rows(n: int, rows: Array) -> NDArray[np.bool_]:
    found = np.zeros(n, dtype=np.bool_)
    found[rows] = True
    return found


def _accuracies(
    fits: Regressions, labels: Array, seen: list[NDArray[np.bool_]], held: list[Array]
) -> NDArray[np.float64]:
    """Return the accuracy on the rows held out of every fold under every penalty (folds, penalties)."""
    every = np.repeat(np.stack(seen, axis=1), len(PENALTIES), axis=1)
    predicted = fits.fit(every, np.tile(PENALTIES, len(seen))).predicted()
    found = [
        (predicted[rows][:, number * len(PENALTIES) : (number + 1) * len(PENALTIES)] == labels[rows, None]).mean(axis=0)
        for number, rows in enumerate(held)
    ]
    return np.stack(found)


def _best(fits: Regressions, labels: Array, seen: list[NDArray[np.bool_]], held: list[Array]) -> int:
    return int(_accuracies(fits, labels, seen, held).mean(axis=0).argmax())


def _f1_of(predicted: NDArray[np.bool_], gold: NDArray[np.bool_]) -> Statistic:
    """Return the F1 of one class: 2 · hits over what is predicted and what is there."""
    hit, either = (predicted & gold).astype(np.float64), predicted.astype(np.float64) + gold

    def statistic(counts: Counts) -> NDArray[np.float64]:
        seen = counts @ either
        return np.divide(2 * (counts @ hit), seen, out=np.zeros_like(seen), where=seen > 0)

    return statistic
