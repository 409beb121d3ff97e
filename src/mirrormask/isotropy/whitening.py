"""Whitening: the vectors get mean 0 and the identity as their covariance, and may keep the first k components only.

Paper: Su et al. 2021, "Whitening Sentence Representations for Better Semantics and Faster Retrieval", Algorithm 1;
    Huang et al. 2021, "WhiteningBERT"

    cov = U S U^T,   x' = (x - mean) U S^(-1/2), first k columns
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import torch
from torch import Tensor

from mirrormask.core.errors import DataError, MirrormaskError, at_least
from mirrormask.isotropy import transforms
from mirrormask.isotropy.moments import FLAT, Moments
from mirrormask.models.transform import Affine


@transforms.register("whitening")
class Whitening(Affine):
    """Make all principal components alike, and keep the first of them.

    Args:
        dimension: components to keep; 0 keeps all that vary (the last norm of a model may leave one that does not).

    Relations: `component-removal` removes strong components instead of weakening them; `flow` is a map of the same
        aim that is not linear.

    Example:
        >>> rows = torch.randn(1000, 2, generator=torch.Generator().manual_seed(0)) * torch.tensor([5.0, 0.1])
        >>> Whitening().fit(rows.split(300)).transform(rows).std(dim=0).numpy().round(3).tolist()
        [1.0, 1.0]
    """

    name = "whitening"

    def __init__(self, dimension: int = 0) -> None:
        super().__init__()
        self.dimension = at_least("dimension", dimension, 0, of="whitening")

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Take mean and covariance over all batches, in one pass."""
        moments = Moments(batches, of=self.name).enough().varied()
        width = len(moments.mean)
        if self.dimension > width:
            raise MirrormaskError(
                f"The 'dimension' of whitening must be at most that of the vectors, {width}. Got {self.dimension}."
            )
        variances, components = moments.components()
        filled = int((variances > FLAT * variances[0]).sum())
        if filled < self.dimension:
            raise DataError(
                f"The {moments.count:,} vectors vary in {filled:,} directions only, and whitening is to keep "
                f"{self.dimension:,}. Give more different texts, or a 'dimension' of at most {filled:,}."
            )
        kept = self.dimension or filled
        self.mean = torch.from_numpy(moments.mean).float()
        self.matrix = torch.from_numpy(components[:, :kept] / np.sqrt(variances[:kept])).float()
        return self
