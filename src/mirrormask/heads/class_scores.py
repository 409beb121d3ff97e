"""How good a classifier is: accuracy, F1, calibration, how sure it is, and which classes it takes for each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.heads.calibration import calibration_error

MOST_PAIRS = 10
"""Pairs of classes that a report names."""

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


def f1_of(labels: Numbers, predicted: Numbers, classes: int) -> tuple[Floats, Numbers]:
    """Return the F1 of every class (classes,) and how many rows have it; a class that is nowhere has F1 0.

    Args:
        labels: (n,), or (n, classes) of 0 and 1.
        predicted: likewise.
        classes: how many there are.
    """
    if labels.ndim == 1:
        every = np.arange(classes)
        labels, predicted = (labels[:, None] == every).astype(np.int64), (predicted[:, None] == every).astype(np.int64)
    right = (labels & predicted).sum(axis=0)
    support = labels.sum(axis=0)
    return 2 * right / np.maximum(support + predicted.sum(axis=0), 1), support


def confusion(labels: Numbers, predicted: Numbers, classes: int) -> Numbers:
    """Return how often each class (row) was taken for each (column), as (classes, classes)."""
    return np.bincount(labels * classes + predicted, minlength=classes**2).reshape(classes, classes)


def entropy_bits(probabilities: Floats, *, several: bool = False) -> Floats:
    """Return how unsure each row is, in bits (n,): -sum_k s_k log2 s_k (Suresh and Ong 2021).

    Where several classes may hold, it is the mean over the yes or no of each.

    Example:
        >>> entropy_bits(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [1.0, 0.0]
    """
    logs = np.log2(np.maximum(probabilities, 1e-300))
    if not several:
        return np.abs((probabilities * logs).sum(axis=1))
    against = np.log2(np.maximum(1 - probabilities, 1e-300))
    found: Floats = np.abs((probabilities * logs + (1 - probabilities) * against).mean(axis=1))
    return found


def scores_of(
    labels: Numbers, predicted: Numbers, probabilities: Floats, names: Sequence[str], raw: Floats | None = None
) -> dict[str, Any]:
    """Return everything a report says about predictions.

    Macro-F1 is the mean over the classes that these rows have; the classes of the classifier that no row has are not
    held against it beyond the rows that it took for them.

    Args:
        labels: (n,), or (n, classes) of 0 and 1.
        predicted: what was decided, likewise.
        probabilities: calibrated (n, classes).
        names: of the classes.
        raw: probabilities without the temperature, to see what it did.
    """
    several = labels.ndim == 2
    f1, support = f1_of(labels, predicted, len(names))
    there = support > 0
    right = (labels == predicted).all(axis=1) if several else labels == predicted
    entropy = entropy_bits(probabilities, several=several)
    found: dict[str, Any] = {
        "rows": len(labels),
        "accuracy_percent": 100 * float(right.mean()),
        "macro_f1_percent": 100 * float(f1[there].mean()) if there.any() else 0.0,
        "weighted_f1_percent": 100 * float((f1 * support).sum() / max(1, support.sum())),
        "calibration_error": calibration_error(probabilities, labels),
        **({} if raw is None else {"calibration_error_before": calibration_error(raw, labels)}),
        "entropy_bits": float(entropy.mean()),
        "entropy_bits_when_right": float(entropy[right].mean()) if right.any() else None,
        "entropy_bits_when_wrong": float(entropy[~right].mean()) if not right.all() else None,
        "classes": [
            {"label": name, "rows": int(support[place]), "f1_percent": 100 * float(f1[place])}
            for place, name in enumerate(names)
        ],
    }
    if several:
        taken = int(predicted.sum() + labels.sum())
        found["micro_f1_percent"] = 100 * 2 * int((labels & predicted).sum()) / max(1, taken)
        return found
    matrix = confusion(labels, predicted, len(names))
    return {**found, "confusion": matrix.tolist(), "most_confused": most_confused(matrix, names)}


def most_confused(matrix: Numbers, names: Sequence[str], most: int = MOST_PAIRS) -> list[dict[str, Any]]:
    """Return the pairs of classes that are taken for each other most often, with counts both ways.

    Example:
        >>> most_confused(np.array([[5, 2], [1, 4]]), ["calm", "glad"])
        [{'one': 'calm', 'other': 'glad', 'one_as_other': 2, 'other_as_one': 1}]
    """
    both = np.triu(matrix + matrix.T, k=1)
    order = np.argsort(-both, axis=None, kind="stable")[:most]
    pairs = [divmod(int(place), len(names)) for place in order]
    return [
        {
            "one": names[i],
            "other": names[j],
            "one_as_other": int(matrix[i, j]),
            "other_as_one": int(matrix[j, i]),
        }
        for i, j in pairs
        if both[i, j] > 0
    ]
