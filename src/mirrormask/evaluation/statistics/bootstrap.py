"""Bootstrap: how far a score would move on other data of the same kind, and whether two models really differ.

Paper: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapters 13 (percentile intervals) and 16 (tests).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import between
from mirrormask.core.seeding import generator
from mirrormask.evaluation.statistics.resamples import Counts, Statistic

_BLOCK = 1 << 19  # counts held at once: 4 MB, of which one task of several is a part that stays in a core's cache

CONFIDENCE = 0.95
RESAMPLES = 1000
MOST_RESAMPLES = 100_000


@dataclass(frozen=True)
class Estimate:
    """A score in percent with its confidence interval."""

    value: float
    low: float
    high: float
    confidence: float = CONFIDENCE

    def to_dict(self) -> dict[str, float]:
        """Return value and interval, JSON-able."""
        return {"value": self.value, "low": self.low, "high": self.high, "confidence": self.confidence}


@dataclass(frozen=True)
class Difference:
    """How much better one model is than another on the same units, in percent points.

    Args:
        value: score of the second model less the first's.
        low, high: confidence interval of the difference.
        p_value: two-sided; how often resamples contradict the sign of the difference.
        least_p: the smallest p-value that so many resamples can show.
    """

    value: float
    low: float
    high: float
    p_value: float
    least_p: float
    confidence: float = CONFIDENCE

    @property
    def real(self) -> bool:
        """Return whether the difference is larger than chance explains at this confidence."""
        return self.p_value < 1 - self.confidence

    def sentence(self, first: str, second: str, what: str = "") -> str:
        """Return the verdict in words.

        Example:
            >>> Difference(2.1, 1.0, 3.2, 0.004, 0.002).sentence("A", "B", "MRR@10")
            'B is better than A by 2.1 points (95 % CI 1.0 to 3.2, p = 0.004) in MRR@10.'
        """
        on = f" in {what}" if what else ""
        level = f"{100 * self.confidence:g} % CI"
        if not self.real:
            span = f"{level} {_signed(self.low)} to {_signed(self.high)}, {self.p}"
            return f"There is no evidence that {second} and {first} differ{on}: {_signed(self.value)} points ({span})."
        better, worse = (second, first) if self.value > 0 else (first, second)
        low, high = (self.low, self.high) if self.value > 0 else (-self.high, -self.low)
        span = f"{level} {low:.1f} to {high:.1f}, {self.p}".replace("-", "−")
        return f"{better} is better than {worse} by {abs(self.value):.1f} points ({span}){on}."

    @property
    def p(self) -> str:
        """Return the p-value as text."""
        if self.p_value <= self.least_p:
            return f"p ≤ {self.least_p:.2g}"
        return f"p = {self.p_value:.2f}" if self.p_value >= 0.095 else f"p = {self.p_value:.3f}"

    def to_dict(self) -> dict[str, Any]:
        """Return the difference, JSON-able."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "confidence": self.confidence,
            "p_value": self.p_value,
            "real": self.real,
        }


def check_resamples(resamples: int, *, fewest: int = 1, of: str) -> None:
    """Refuse a number of resamples that tells nothing, or that no memory holds."""
    between("resamples", resamples, fewest, MOST_RESAMPLES + 1, of=of)


def resampled(
    statistics: Sequence[Statistic],
    units: int,
    *,
    resamples: int = RESAMPLES,
    seed: int = 42,
    strata: Sequence[NDArray[np.int64]] | None = None,
) -> NDArray[np.float64]:
    """Return every statistic on the same resamples of the units, as (statistics, resamples).

    Statistics of two models computed in one call are paired, which is what makes their difference comparable.

    Args:
        statistics: functions of counts, see `statistics.py`.
        units: number of pairs, queries or texts.
        strata: groups of units that keep their size in every resample; None resamples them all together.
    """
    check_resamples(resamples, of="a bootstrap")
    found = [
        np.stack([statistic(counts) for statistic in statistics])
        for counts in _counts(units, resamples, generator(seed, "bootstrap"), strata)
    ]
    return np.concatenate(found, axis=1)


def on_all(statistic: Statistic, units: int) -> float:
    """Return a statistic on the data itself: every unit once."""
    return float(statistic(np.ones((1, units)))[0])


def estimate(value: float, values: NDArray[np.float64], *, confidence: float = CONFIDENCE) -> Estimate:
    """Return a score with its percentile interval, both in percent, from its value on resamples (r,)."""
    low, high = _percentiles(values, confidence)
    return Estimate(100 * value, 100 * low, 100 * high, confidence)


def difference(
    first: float,
    second: float,
    first_values: NDArray[np.float64],
    second_values: NDArray[np.float64],
    *,
    confidence: float = CONFIDENCE,
) -> Difference:
    """Return the second score less the first, in percent points, from both on the same resamples (r,)."""
    values = second_values - first_values
    low, high = _percentiles(values, confidence)
    # The +1 counts the data itself as a resample, so that no finite number of them can show p = 0.
    tail = 1 + int(min(np.count_nonzero(values <= 0), np.count_nonzero(values >= 0)))
    least = 2 / (len(values) + 1)
    p_value = min(1.0, tail * least)
    return Difference(100 * (second - first), 100 * low, 100 * high, p_value, min(1.0, least), confidence)


def _counts(
    units: int, resamples: int, random: np.random.Generator, strata: Sequence[NDArray[np.int64]] | None
) -> Iterator[Counts]:
    groups = [np.arange(units)] if strata is None else list(strata)
    rows = max(1, _BLOCK // max(units, 1))
    for start in range(0, resamples, rows):
        block = min(rows, resamples - start)
        counts = np.zeros((block, units))
        for group in groups:
            drawn = random.integers(0, len(group), size=(block, len(group)))
            drawn += np.arange(block)[:, None] * len(group)
            counts[:, group] = np.bincount(drawn.ravel(), minlength=block * len(group)).reshape(block, -1)
        yield counts


def _percentiles(values: NDArray[np.float64], confidence: float) -> tuple[float, float]:
    outside = (1 - confidence) / 2
    low, high = np.quantile(values, [outside, 1 - outside])
    return float(low), float(high)


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", "−")
