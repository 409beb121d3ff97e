"""A row against the baseline over paired seeds: the test, and what it says in plain words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.evaluation.statistics.significance import ALPHA, least_p, pairs_needed


@dataclass(frozen=True)
class Against:
    """A row against the baseline, on one task or on the average, over the seeds that both have.

    Sign flips decide. The interval describes how far the difference would move on other sentences and seeds; over few
    seeds it is too narrow to decide anything: over five, 9 to 15 % of intervals of equal methods leave 0 out.

    Args:
        pairs: seeds that both have.
        mean: of the differences, in points.
        deviation: of the differences, over seeds.
        p: two-sided, by sign flips over the seeds.
        corrected: the same by Holm over all rows compared.
        rows: how many rows these are.
        alpha: the p-value to fall below.
        interval: of a bootstrap over sentence pairs and seeds; on the average alone.
    """

    pairs: int
    mean: float
    deviation: float
    p: float
    corrected: float
    rows: int = 1
    alpha: float = ALPHA
    interval: Estimate | None = None

    @property
    def direction(self) -> int:
        """Return 1 for better, -1 for worse and 0 where the seeds do not show it."""
        return 0 if self.corrected >= self.alpha else 1 if self.mean > 0 else -1

    @property
    def least(self) -> float:
        """Return the smallest p that so many seeds can show."""
        return least_p(self.pairs)

    @property
    def needed(self) -> int | None:
        """Return about how many seeds would show a difference like this, corrected; None where a thousand would not."""
        return pairs_needed(self.mean, self.deviation, alpha=self.alpha / self.rows)

    @property
    def verdict(self) -> str:
        """Return whether the row is better or worse than the baseline, or how many seeds it would take to tell."""
        if self.direction:
            return f"{'better' if self.direction > 0 else 'worse'}, {p_text(self.corrected)}"
        seeds = f"{self.pairs} seed" + ("s" if self.pairs != 1 else "")
        if self.mean == 0:
            return f"no difference with {seeds}"
        needed = "more than 1,000" if self.needed is None else f"about {max(self.needed, self.pairs + 1)}"
        return f"no evidence with {seeds}; {needed} would be needed"

    def to_dict(self) -> dict[str, Any]:
        """Return the test, JSON-able."""
        return {
            "pairs": self.pairs,
            "mean": self.mean,
            "deviation": self.deviation if math.isfinite(self.deviation) else None,
            "p": self.p,
            "corrected": self.corrected,
            "least": self.least,
            "needed": self.needed,
            "interval": None if self.interval is None else self.interval.to_dict(),
        }


def p_text(p: float) -> str:
    """Return a p-value as text.

    Example:
        >>> p_text(0.0123), p_text(0.25), p_text(0.00195)
        ('p = 0.012', 'p = 0.25', 'p = 0.0019')
    """
    return f"p = {p:.2f}" if p >= 0.095 else f"p = {p:.3f}" if p >= 0.0095 else f"p = {p:.4f}"
