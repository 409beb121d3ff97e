"""Is a difference between two methods larger than what seeds explain? Sign flips, Holm, and how many seeds it takes.

Paper: Fisher 1935, "The Design of Experiments" (the sign-flip test over pairs); Holm 1979, "A Simple Sequentially
    Rejective Multiple Test Procedure"; Dror et al. 2018, "The Hitchhiker's Guide to Testing Statistical Significance in
    Natural Language Processing"

    p = share of the 2^n ways to flip signs with |mean(+-d_1, ..., +-d_n)| >= |mean(d)|
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, between
from mirrormask.core.seeding import generator

ALPHA = 0.05
POWER = 0.8

EXACT = 18
"""Pairs up to which all sign flips are counted."""

FLIPS = 100_000
"""Random sign flips beyond that."""


def sign_flip_p(differences: Sequence[float] | NDArray[np.floating], *, seed: int = 42) -> float:
    """Return the two-sided p-value that paired differences (n,) are centered on 0: exact for few pairs.

    Args:
        differences: one per seed.
        seed: decides the flips where there are too many pairs for all of them.

    Example:
        >>> sign_flip_p([0.5, 0.4, 0.9, 0.2, 0.7])
        0.0625
    """
    values = np.asarray(differences, dtype=np.float64)
    if not len(values):
        raise MirrormaskError("A sign-flip test needs at least one pair. Got none.")
    observed = abs(values.mean()) * (1 - 1e-9)  # sums of the same numbers in another order differ in their last digits
    if len(values) <= EXACT:  # the first sign may stay, since the mirror image of each flip counts the same
        numbers = np.arange(2 ** (len(values) - 1))[:, None]
        signs = 1.0 - 2.0 * ((numbers >> np.arange(len(values))) & 1)
        return float(np.mean(np.abs(signs @ values) / len(values) >= observed))
    random = generator(seed, "sign-flips")
    hits = 0
    for _ in range(10):
        signs = random.integers(0, 2, size=(FLIPS // 10, len(values))) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ values) / len(values) >= observed))
    return (hits + 1) / (FLIPS + 1)


def least_p(pairs: int) -> float:
    """Return the smallest p-value that so many pairs can show by sign flips.

    Example:
        >>> least_p(5), least_p(6)
        (0.0625, 0.03125)
    """
    exact = min(1.0, 2.0 ** (1 - pairs))
    return exact if pairs <= EXACT else max(exact, 1 / (FLIPS + 1))


def fewest_pairs(alpha: float = ALPHA) -> int:
    """Return the smallest number of pairs whose sign flips can fall below `alpha`.

    Example:
        >>> fewest_pairs(0.05), fewest_pairs(0.05 / 7)
        (6, 9)
    """
    between("alpha", alpha, 1e-12, 1, of="a test")
    pairs = 1
    while min(1.0, 2.0 ** (1 - pairs)) >= alpha:
        pairs += 1
    return pairs


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values corrected for how many there are, in their order.

    Example:
        >>> holm([0.01, 0.04, 0.03])
        [0.03, 0.06, 0.06]
    """
    count = len(p_values)
    found, highest = [0.0] * count, 0.0
    for rank, place in enumerate(sorted(range(count), key=lambda i: p_values[i])):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        found[place] = highest
    return found


def pairs_needed(
    mean: float, deviation: float, *, alpha: float = ALPHA, power: float = POWER, most: int = 1000
) -> int | None:
    """Return about how many pairs it takes to show a difference of this size, or None where `most` would not do.

    The power is that of the paired t-test, which the sign-flip test comes close to; the number is never smaller than
    what sign flips need to fall below `alpha` at all.

    Args:
        mean: of the differences.
        deviation: of the differences.
        alpha: the p-value to fall below.
        power: the chance to do so.
        most: where to give up.

    Example:
        >>> pairs_needed(0.5, 1.0), pairs_needed(3.0, 1.0), pairs_needed(0.001, 1.0)
        (34, 6, None)
    """
    least = max(2, fewest_pairs(alpha))
    if not (math.isfinite(mean) and math.isfinite(deviation)) or mean == 0:
        return None
    if deviation == 0:
        return least
    effect = abs(mean) / deviation
    if _power(effect, most, alpha) < power:
        return None
    low, high = 1, most  # the power grows with the number: halve the span
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _power(effect, middle, alpha) >= power else (middle, high)
    return max(least, high)


def _power(effect: float, pairs: int, alpha: float) -> float:
    """Return the chance of the paired t-test to show an effect, given in deviations."""
    from scipy.stats import nct, t

    if pairs < 2:
        return 0.0
    edge = t.ppf(1 - alpha / 2, pairs - 1)
    shift = effect * math.sqrt(pairs)
    if shift > edge + 30:  # so far out the chance is 1, and costly to compute
        return 1.0
    return float(nct.sf(edge, pairs - 1, shift))
