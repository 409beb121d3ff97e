"""Mean and covariance of vectors that come in batches, in the memory of one matrix and one block of rows."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from mirrormask.core.errors import DataError

BLOCK = 4096
"""Rows that are multiplied at a time in float32; their sums are added up in float64."""

ROUNDING, FLAT = 1e-10, 1e-6
"""Shares of the largest variance below which that of a dimension, and that of a direction in products of float32, is
rounding."""


class Moments:
    """Mean and covariance, fitted in one pass.

    Rows are taken relative to the mean of the first block: where all vectors point the same way, their products would
    drown what differs.

    Args:
        batches: vectors (n, d), a batch at a time.
        of: what they are for, for messages.
    """

    def __init__(self, batches: Iterable[Tensor], *, of: str) -> None:
        self.of = of
        self.count = 0
        for batch in batches:
            rows = batch.detach().cpu().float().numpy()
            for start in range(0, len(rows), BLOCK):
                self._add(rows[start : start + BLOCK])
        if not self.count:
            raise DataError("A transform is fitted on vectors, and there is none. Give it some text.")
        offset = self._sum / self.count
        self.mean: NDArray[np.float64] = self._shift + offset
        products = self._products - self.count * np.outer(offset, offset)
        self.covariance: NDArray[np.float64] = products / max(1, self.count - 1)

    def _add(self, block: NDArray[np.float32]) -> None:
        if not self.count:
            width = block.shape[1]
            self._shift = block.mean(axis=0)
            self._moved = np.empty((BLOCK, width), dtype=np.float32)
            self._ones = np.ones(BLOCK, dtype=np.float32)
            self._sum, self._products = np.zeros(width), np.zeros((width, width))
        if block.shape[1] != len(self._sum):
            raise DataError(
                f"The vectors for {self.of} have {len(self._sum)} numbers, and then {block.shape[1]}. "
                "Take all of them from one model."
            )
        moved = np.subtract(block, self._shift, out=self._moved[: len(block)])
        total = self._ones[: len(block)] @ moved
        if not np.isfinite(total).all():
            row = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0]) if not np.isfinite(block).all() else 0
            raise DataError(
                f"Vector {self.count + row + 1} for {self.of} has NaN or infinity in it. Leave it out, or check the "
                "model that it comes from."
            )
        self._sum += total
        self._products += moved.T @ moved
        self.count += len(block)

    def varied(self) -> Moments:
        """Return itself, or refuse vectors with dimensions that are the same in all of them."""
        variance = np.diag(self.covariance)
        constant = np.flatnonzero(variance <= ROUNDING * max(variance.max(), np.finfo(np.float32).tiny))
        if len(constant):
            raise DataError(
                f"{len(constant):,} of the {len(variance):,} dimensions are the same in all {self.count:,} vectors "
                f"(number {constant[0] + 1} is the first), so {self.of} has nothing to scale there. Give other text, "
                "or take the transform centering."
            )
        return self

    def enough(self) -> Moments:
        """Return itself, or refuse fewer vectors than a covariance needs."""
        if self.count <= len(self.mean):
            raise DataError(
                f"{self.of.capitalize()} needs more vectors than a vector has dimensions, {len(self.mean):,}, and "
                f"there are {self.count:,}. Give more text, or take the transform centering."
            )
        return self

    def components(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the variances along the principal components, largest first, and the components (d, d) as columns."""
        variances, found = np.linalg.eigh(self.covariance)
        variances, found = variances[::-1], found[:, ::-1]
        largest = np.abs(found).argmax(axis=0)
        return variances, found * np.sign(found[largest, np.arange(len(largest))])  # the same on every machine
