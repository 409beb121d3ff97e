"""Centering: the origin moves to the mean of the vectors, because what all sentences share says nothing about one.

Paper: Mu and Viswanath 2018, "All-but-the-top: Simple and Effective Postprocessing for Word Representations", without
    its second step; the translation of Su et al. 2021, "BERT-whitening"
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import torch
from torch import Tensor

from mirrormask.isotropy import transforms
from mirrormask.isotropy.moments import Moments
from mirrormask.models.transform import Affine


@transforms.register("centering")
class Centering(Affine):
    """Take away the mean of all vectors.

    Relations: `component-removal` takes the strongest directions away too; `whitening` makes all alike.

    Example:
        >>> Centering().fit([torch.ones(2, 3), torch.zeros(2, 3)]).transform(torch.ones(1, 3)).tolist()
        [[0.5, 0.5, 0.5]]
    """

    name = "centering"

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Take the mean over all batches."""
        moments = Moments(batches, of=self.name)
        self.mean = torch.from_numpy(moments.mean).float()
        self.matrix = torch.eye(len(moments.mean))
        return self
