"""Probabilities that mean what they say: one temperature for the logits, and the error that is left.

Paper: Guo et al. 2017, "On Calibration of Modern Neural Networks": temperature scaling, and the expected calibration
    error over bins of equal width

    ECE = sum_b n_b / n |accuracy(b) - confidence(b)|
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BINS = 15
_TEMPERATURES = np.geomspace(0.05, 20.0, 241)

Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


def probabilities_of(logits: NDArray[np.floating], *, temperature: float = 1.0, several: bool = False) -> Floats:
    """Return probabilities (n, classes): a softmax, or where several classes may hold a sigmoid each."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    if several:
        return np.where(scaled >= 0, 1 / (1 + np.exp(-np.abs(scaled))), 1 - 1 / (1 + np.exp(-np.abs(scaled))))
    exponents = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    found: Floats = exponents / exponents.sum(axis=1, keepdims=True)
    return found


def fit_temperature(logits: NDArray[np.floating], labels: Numbers, *, several: bool = False) -> float:
    """Return the temperature whose probabilities give the labels the smallest loss; the likeliest class stays the same.

    Args:
        logits: of texts that were not trained on (n, classes).
        labels: their classes (n,), or (n, classes) of 0 and 1.
        several: whether a text may have several classes.

    Example:
        >>> sure_and_half_wrong = np.array([[4.0, 0.0], [4.0, 0.0]])
        >>> fit_temperature(sure_and_half_wrong, np.array([0, 1])) > 10
        True
    """
    losses = [
        _loss(probabilities_of(logits, temperature=each, several=several), labels, several) for each in _TEMPERATURES
    ]
    return float(_TEMPERATURES[int(np.argmin(losses))])


def calibration_error(probabilities: Floats, labels: Numbers, *, bins: int = BINS) -> float:
    """Return the expected calibration error of the likeliest classes, between 0 and 1.

    Where several classes may hold, every class of every text is a yes or no of its own.

    Args:
        probabilities: (n, classes).
        labels: (n,), or (n, classes) of 0 and 1.
        bins: of equal width.

    Example:
        >>> calibration_error(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0, 1])).__round__(4)
        0.3
    """
    if labels.ndim == 2:
        confidence, right = probabilities.ravel(), labels.ravel() > 0
    else:
        confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == labels
    place = np.minimum((confidence * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(place, weights=right - confidence, minlength=bins)
    return float(np.abs(gaps).sum() / max(1, len(confidence)))


def fit_threshold(probabilities: Floats, labels: Numbers) -> float:
    """Return the probability from which on a class is taken to hold: the one of the best macro-F1, or one half.

    Args:
        probabilities: of texts that were not trained on (n, classes).
        labels: (n, classes) of 0 and 1.
    """
    best, found = -1.0, 0.5
    for threshold in np.arange(0.05, 0.96, 0.05):
        taken = probabilities >= threshold
        right = (taken & (labels > 0)).sum(axis=0)
        f1 = float((2 * right / np.maximum(taken.sum(axis=0) + labels.sum(axis=0), 1)).mean())
        if f1 > best + 1e-12 or (f1 > best - 1e-12 and abs(threshold - 0.5) < abs(found - 0.5)):
            best, found = f1, float(threshold)
    return round(found, 2)


def _loss(probabilities: Floats, labels: Numbers, several: bool) -> float:
    if several:
        chance = np.where(labels > 0, probabilities, 1 - probabilities)
    else:
        chance = probabilities[np.arange(len(labels)), labels]
    return float(-np.log(np.maximum(chance, 1e-300)).mean())
