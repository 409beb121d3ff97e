"""Where to cut a heap of numbers in two: below are boundaries between words, above are characters that belong together.

Four rules look at no label:

- `otsu` takes the cut that leaves the least variance within the two sides (Otsu 1979).
- `mixture` fits two normal distributions to the logarithms and cuts where they are equally likely.
- `mean-length` takes the quantile at which words have the mean length asked for. Running Chinese text has about 1.6
  characters a word; that is knowledge of a language, and of no text.
- `fixed` is a number one gives.

`best_threshold` looks at labels, those of a development set.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError

Floats = NDArray[np.float64]

_STEPS = 200
_ROUNDS = 200


def otsu(values: Floats) -> float:
    """Return the cut with the least variance within its two sides.

    Example:
        >>> 1.0 < otsu(np.array([0.9, 1.0, 1.1, 4.9, 5.0, 5.2])) < 4.9
        True
    """
    ordered = np.sort(_enough(values))
    place = int(_between(ordered).argmax())
    return float((ordered[place] + ordered[place + 1]) / 2)


def separation(values: Floats) -> float:
    """Return how much of the variance lies between the two sides of Otsu's cut: near 1 for two heaps far apart.

    Of one smooth heap it is 0.64 (normal) to 0.75 (uniform). It looks at no label, so it may choose a layer.

    Example:
        >>> round(separation(np.array([1.0, 1.1, 4.9, 5.0])), 3)
        0.999
    """
    ordered = np.sort(_enough(values))
    total = float(ordered.var())
    return float(_between(ordered).max()) / len(ordered) ** 2 / total if total > 0 else 0.0


def _between(ordered: Floats) -> Floats:
    """Return the variance between the two sides of every cut, times the square of how many numbers there are."""
    n = len(ordered)
    below = np.arange(1, n)
    sums = np.cumsum(ordered)[:-1]
    low, high = sums / below, (ordered.sum() - sums) / (n - below)
    between: Floats = below * (n - below) * (high - low) ** 2
    between[np.diff(ordered) == 0] = -1.0  # equal numbers stay together
    return between


def mixture(values: Floats) -> float:
    """Return where two normal distributions of the logarithms, fitted by expectation maximization, are equally likely.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> heaps = np.exp(np.concatenate([rng.normal(0, 0.2, 500), rng.normal(2, 0.2, 500)]))
        >>> 1.8 < mixture(heaps) < 4.2
        True
    """
    logs = np.log(np.maximum(_enough(values), 1e-12))
    start = float(np.log(max(otsu(values), 1e-12)))
    sides = [logs[logs <= start], logs[logs > start]]
    if not all(len(side) for side in sides):
        return otsu(values)
    means = np.array([side.mean() for side in sides])
    deviations = np.array([max(float(side.std()), 1e-3) for side in sides])
    weights = np.array([len(side) / len(logs) for side in sides])
    for _ in range(_ROUNDS):
        dense = weights / deviations * np.exp(-0.5 * ((logs[:, None] - means) / deviations) ** 2)  # (n, 2)
        share = dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-300)
        mass = np.maximum(share.sum(axis=0), 1e-9)
        moved = (share * logs[:, None]).sum(axis=0) / mass
        deviations = np.maximum(np.sqrt((share * (logs[:, None] - moved) ** 2).sum(axis=0) / mass), 1e-3)
        weights = mass / len(logs)
        if np.abs(moved - means).max() < 1e-7:
            break
        means = moved
    grid = np.linspace(means.min(), means.max(), _STEPS)
    dense = weights / deviations * np.exp(-0.5 * ((grid[:, None] - means) / deviations) ** 2)
    upper = int(means.argmax())
    crossed = np.flatnonzero(dense[:, upper] >= dense[:, 1 - upper])
    return float(np.exp(grid[crossed[0]] if len(crossed) else grid[-1]))


def mean_length(values: Floats, lines: int, length: float) -> float:
    """Return the cut at which the words have the mean length asked for.

    Args:
        values: one number for every two neighboring characters, over all lines.
        lines: how many lines they are from; each begins a word.
        length: characters per word.

    Example:
        >>> mean_length(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), lines=1, length=2.0)
        2.5
    """
    if length < 1:
        raise MirrormaskError(f"The 'length' of a mean word must be at least 1 character. Got {length}.")
    ordered = np.sort(_enough(values))
    boundaries = round((len(ordered) + lines) / length) - lines
    if boundaries <= 0:
        return float(ordered[0]) - 1.0
    if boundaries >= len(ordered):
        return float(ordered[-1]) + 1.0
    return float((ordered[boundaries - 1] + ordered[boundaries]) / 2)


def best_threshold(values: Floats, boundary: NDArray[np.bool_]) -> float:
    """Return the cut that gets most boundaries of a development set right.

    Args:
        values: one number for every two neighboring characters.
        boundary: whether a word begins between them.

    Example:
        >>> best_threshold(np.array([1.0, 2.0, 3.0, 4.0]), np.array([True, True, False, False]))
        2.5
    """
    order = np.argsort(_enough(values), kind="stable")
    ordered, real = values[order], boundary[order]
    right = np.concatenate([[0], np.cumsum(real)]) + np.concatenate([np.cumsum(~real[::-1])[::-1], [0]])
    middles = np.concatenate([[ordered[0] - 1.0], (ordered[1:] + ordered[:-1]) / 2, [ordered[-1] + 1.0]])
    return float(middles[right.argmax()])


def _enough(values: Floats) -> Floats:
    if len(values) < 2:
        raise MirrormaskError("A threshold needs at least two pairs of neighboring characters. Give more text.")
    return values
