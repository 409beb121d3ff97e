"""Standardization: every dimension gets mean 0 and variance 1.

Paper: Timkey and van Schijndel 2021, "All Bark and No Bite: Rogue Dimensions in Transformer Language Models Obscure
    Representational Quality", Section 4.1
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import torch
from torch import Tensor

from mirrormask.isotropy import transforms
from mirrormask.isotropy.moments import Moments
from mirrormask.models.transform import Affine


@transforms.register("standardization")
class Standardization(Affine):
    """Give every dimension mean 0 and variance 1, so that no few of them decide every cosine.

    Relations: `whitening` does it to the principal components, and so to what dimensions say together.

    Example:
        >>> Standardization().fit([torch.tensor([[0.0], [2.0]])]).transform(torch.tensor([[1.0]])).tolist()
        [[0.0]]
    """

    name = "standardization"

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Take mean and variance over all batches."""
        moments = Moments(batches, of=self.name).varied()
        self.mean = torch.from_numpy(moments.mean).float()
        self.matrix = torch.from_numpy(np.diag(1 / np.sqrt(np.diag(moments.covariance)))).float()
        return self
