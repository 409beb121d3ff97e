"""What was predicted, how good that is, and how it is written down."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import atomic_file
from mirrormask.prompting.cloze_rows import Examples

FORMATS = (".csv", ".jsonl")


@dataclass(frozen=True)
class Answers:
    """Labels of texts with their probabilities.

    Args:
        labels: in the order of the columns; of rows with choices of their own, their numbers.
        scores: log probabilities (n, labels).
        plain: the same before calibration, where there was one.
    """

    labels: tuple[str, ...]
    scores: NDArray[np.float64] = field(repr=False)
    plain: NDArray[np.float64] | None = field(default=None, repr=False)

    @property
    def predicted(self) -> NDArray[np.int64]:
        """Return the number of the likeliest label of each row."""
        found: NDArray[np.int64] = self.scores.argmax(1)
        return found

    def rows(self, examples: Examples) -> Iterator[dict[str, Any]]:
        """Yield what is known of each text: its label, how sure that is, and its fields."""
        for i, number in enumerate(self.predicted.tolist()):
            sure = round(math.exp(self.scores[i, number]), 6)
            row: dict[str, Any] = {"label": self.labels[number], "probability": sure}
            if self.plain is not None:
                row["uncalibrated_label"] = self.labels[int(self.plain[i].argmax())]
            if examples.choices is not None:
                row["label"] = examples.choices[i][number]
            else:
                shares = zip(self.labels, np.exp(self.scores[i]).tolist(), strict=True)
                row |= {f"p({label})": round(share, 6) for label, share in shares}
            yield {**row, **examples.fields[i]}

    def save(self, path: Path, examples: Examples) -> None:
        """Write the rows as `.csv` or `.jsonl`, whole or not at all."""
        check_format(path)
        with atomic_file(path) as stream:
            rows = list(self.rows(examples))
            if path.suffix == ".jsonl":
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            else:
                writer = csv.DictWriter(stream, list(rows[0]), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def check_format(path: Path) -> None:
    """Refuse a file for predictions whose format is not known."""
    if path.suffix not in FORMATS:
        raise MirrormaskError(f"Predictions are written as {' or '.join(FORMATS)}. Got {path.name!r}.")


def measure(
    predicted: NDArray[np.int64], gold: NDArray[np.int64], classes: int, groups: Sequence[str] = ()
) -> dict[str, float]:
    """Return accuracy with its interval, macro-F1, the majority's accuracy and, with groups, exact match and F1a.

    Args:
        predicted, gold: numbers of labels (n,).
        classes: number of labels.
        groups: what is only right as a whole, such as all answers to one question.

    Example:
        >>> measure(np.array([0, 1, 1, 1]), np.array([0, 1, 0, 1]), 2)["accuracy"]
        0.75
    """
    right = predicted == gold
    low, high = wilson(int(right.sum()), len(right))
    found = {
        "n": float(len(right)),
        "accuracy": float(right.mean()),
        "low": low,
        "high": high,
        "majority": float(np.bincount(gold).max() / len(gold)),
        "macro_f1": float(np.mean([_f1(predicted, gold, label) for label in range(classes) if label in gold])),
    }
    if groups:
        names = np.array(groups)
        whole = [bool(right[names == name].all()) for name in dict.fromkeys(groups)]
        found["exact_match"] = float(np.mean(whole))
        found["f1a"] = _f1(predicted, gold, 0)  # the first label is that of right answers
    return found


def wilson(right: int, total: int, z: float = 1.96) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927).

    Example:
        >>> [round(each, 3) for each in wilson(8, 10)]
        [0.49, 0.943]
    """
    share = right / total
    middle = (share + z * z / (2 * total)) / (1 + z * z / total)
    half = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / (1 + z * z / total)
    return middle - half, middle + half


def _f1(predicted: NDArray[np.int64], gold: NDArray[np.int64], label: int) -> float:
    both = int(((predicted == label) & (gold == label)).sum())
    told = int((predicted == label).sum()) + int((gold == label).sum())
    return 2 * both / told if told else 0.0
