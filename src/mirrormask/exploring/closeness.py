"""How near two texts must lie to say the same: told from how near unrelated ones lie in the same pile.

The distance to the nearest other text is a mixture: for most texts, which have no twin, it is spread around a common
value; for the others it is smaller. Two Gaussians are fitted, and the threshold is where only one in a thousand of the
texts without a twin would come so near, and no more than ten of them all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import derive, generator

FEWEST = 50
"""Texts needed to tell a threshold from; with fewer it is `DEFAULT`."""

DEFAULT = 0.9
CHANCE, AT_MOST = 0.001, 10
"""Share of the texts without a twin that would come so near, and how many of them in all."""

_FITTED = 20_000
_LEAST, _MOST = 0.5, 0.99
_LEAST_SHARE = 0.15  # of the texts that have no twin


@dataclass(frozen=True)
class Closeness:
    """A threshold with its reason.

    Args:
        threshold: cosine from which two texts count as saying the same.
        reason: where it comes from, a sentence.
    """

    threshold: float
    reason: str


def choose_closeness(cosines: NDArray[np.floating], *, seed: int = 42) -> Closeness:
    """Choose a threshold from the cosine of each text to its nearest other one (n,).

    Example:
        >>> random = np.random.default_rng(0)
        >>> cosines = np.concatenate([random.normal(0.5, 0.06, 900), random.normal(0.95, 0.02, 100)])
        >>> 0.6 < choose_closeness(cosines).threshold < 0.8
        True
    """
    from scipy.stats import norm

    if len(cosines) < FEWEST:
        why = f"fewer than {FEWEST} texts are too few to tell it from, so it is the usual {DEFAULT}"
        return Closeness(DEFAULT, f"Cosine of at least {DEFAULT}: {why}.")
    sample = np.asarray(cosines, dtype=np.float64)
    if len(sample) > _FITTED:
        sample = generator(seed, "closeness").choice(sample, _FITTED, replace=False)
    distances = np.sqrt(np.maximum(2 - 2 * sample, 0))
    middle, spread = _without_twin(distances, seed)
    chance = min(CHANCE, AT_MOST / len(cosines))
    reach = middle - norm.isf(chance) * spread
    found = float(np.clip(1 - max(reach, 0) ** 2 / 2, _LEAST, _MOST))
    usual = 1 - middle**2 / 2
    return Closeness(
        found,
        f"Cosine of at least {found:.3f}: the nearest other text is mostly at {usual:.2f}, and of texts without a twin "
        f"only 1 in {1 / chance:,.0f} would come so near to another.",
    )


def _without_twin(distances: NDArray[np.float64], seed: int) -> tuple[float, float]:
    """Return mean and deviation of the distances of texts that have no twin: the further part of a mixture of two."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    column, state = distances[:, None], derive(seed, "closeness") % 2**31
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # where all distances are the same
        fitted = [GaussianMixture(n, n_init=2, reg_covar=1e-5, random_state=state).fit(column) for n in (1, 2)]
    best = min(fitted, key=lambda each: float(each.bic(column)))
    far = int(np.argmax(np.where(best.weights_ >= _LEAST_SHARE, best.means_.ravel(), -1)))
    return float(best.means_[far, 0]), float(np.sqrt(best.covariances_.ravel()[far]))
