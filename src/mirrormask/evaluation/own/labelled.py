"""The user's labelled texts: can the label be told from the vector by its neighbors, or by a linear classifier?"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.core.seeding import derive
from mirrormask.core.similarity import unit_rows
from mirrormask.core.wording import counted
from mirrormask.evaluation.own.task import OwnTask
from mirrormask.evaluation.statistics.resamples import Statistic, macro_f1_of, mean_of
from mirrormask.evaluation.vectors import TextVectors

NEIGHBORS = 5
FOLDS = 5
_BLOCK = 1 << 22  # similarities held at once: 16 MB, four times that while the nearest are found


class LabelledTexts(OwnTask):
    """Texts with a class each.

    A text that occurs twice would be its own neighbor, so repeats count once, and texts with two labels are left out.

    Args:
        source: the file, for messages.
        texts, labels: row i of both is a text and its class.
    """

    kind = "labels"
    unit = "texts"
    primary = "linear_accuracy_percent"

    def __init__(self, source: str, texts: Sequence[str], labels: Sequence[str]) -> None:
        if len(set(labels)) < 2:
            raise DataError(
                f"All rows of {source} have the same label {labels[0]!r}. Give texts of at least two classes."
            )
        given: dict[str, set[str]] = {}
        for text, label in zip(texts, labels, strict=True):
            given.setdefault(text, set()).add(label)
        kept = {text: next(iter(found)) for text, found in given.items() if len(found) == 1}
        sizes = Counter(kept.values())
        self.classes = sorted(label for label, size in sizes.items() if size > 1)
        kept = {text: label for text, label in kept.items() if sizes[label] > 1}
        super().__init__(source, len(kept), _notes(len(texts), given, sizes))
        if len(self.classes) < 2:
            raise DataError(f"Fewer than two labels of {source} occur with two different texts. Give more texts.")
        self.texts = list(kept)
        self.labels = np.searchsorted(self.classes, list(kept.values()))

    def roles(self) -> Mapping[str, Iterable[str]]:
        """Return the texts, without a role."""
        return {"": self.texts}

    def statistics(self, vectors: TextVectors, *, seed: int) -> dict[str, Statistic]:
        """Return accuracy and macro-F1 of both classifiers, each text being predicted without itself."""
        found = vectors.of(self.texts)
        predictions = {
            "linear": linear_predictions(found, self.labels, seed=seed),
            "knn": knn_predictions(found, self.labels),
        }
        metrics: dict[str, Statistic] = {}
        for name, predicted in predictions.items():
            metrics[f"{name}_accuracy_percent"] = mean_of((predicted == self.labels).astype(np.float64))
            metrics[f"{name}_macro_f1_percent"] = macro_f1_of(predicted, self.labels, len(self.classes))
        return metrics


def knn_predictions(
    vectors: NDArray[np.floating], labels: NDArray[np.integer], *, neighbors: int = NEIGHBORS
) -> NDArray[np.int64]:
    """Return the class most frequent among each text's nearest others by cosine; the nearer ones decide a draw."""
    units = unit_rows(vectors).astype(np.float32)
    neighbors = min(neighbors, len(units) - 1)
    classes = int(labels.max()) + 1
    predicted = np.empty(len(units), dtype=np.int64)
    step = max(1, _BLOCK // len(units))
    for start in range(0, len(units), step):
        block = units[start : start + step] @ units.T  # (step, n)
        rows = np.arange(len(block))
        block[rows, rows + start] = -np.inf  # leave one out
        near = np.argpartition(-block, neighbors - 1, axis=1)[:, :neighbors]
        # Cosines lie in [−1, 1]: scaled to at most 1 in all, they order draws and never outvote a neighbor.
        votes = np.zeros((len(block), classes))
        weight = 1.0 + block[rows[:, None], near] / (2 * neighbors + 1)
        np.add.at(votes, (rows[:, None], labels[near]), weight)
        predicted[start : start + step] = votes.argmax(axis=1)
    return predicted


def linear_predictions(
    vectors: NDArray[np.floating], labels: NDArray[np.integer], *, seed: int = 42, folds: int = FOLDS
) -> NDArray[np.int64]:
    """Return the class that a logistic regression trained on the other folds, vectors standardized, gives each text."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    folds = min(folds, int(np.bincount(labels).max()))
    splitter = StratifiedKFold(folds, shuffle=True, random_state=derive(seed, "folds") % 2**32)
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", message="The least populated class")  # some folds then lack a rare label
        predicted: NDArray[np.int64] = cross_val_predict(model, np.asarray(vectors, np.float64), labels, cv=splitter)
    return predicted


def _notes(rows: int, given: Mapping[str, set[str]], sizes: Mapping[str, int]) -> list[str]:
    notes = []
    mixed = sum(len(found) > 1 for found in given.values())
    if len(given) < rows:
        notes.append(f"{counted(rows - len(given), 'row')} with a text of another row left out")
    if mixed:
        notes.append(f"{counted(mixed, 'text')} with two labels left out")
    rare = sorted(label for label, size in sizes.items() if size == 1)
    if rare:
        named = ", ".join(map(repr, rare[:5])) + (" …" if len(rare) > 5 else "")
        notes.append(f"labels with a single text are left out: {named}")
    return notes
