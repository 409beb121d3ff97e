"""Component removal: the mean and the strongest directions are taken away, because nearly all sentences share them.

Paper: Mu and Viswanath 2018, "All-but-the-top: Simple and Effective Postprocessing for Word Representations",
    Algorithm 1

    x' = x - mean - sum_(i <= D) (u_i . (x - mean)) u_i
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
import torch
from torch import Tensor

from mirrormask.core.errors import MirrormaskError, at_least
from mirrormask.isotropy import transforms
from mirrormask.isotropy.moments import Moments
from mirrormask.models.transform import Affine


@transforms.register("component-removal")
class ComponentRemoval(Affine):
    """Take away the mean and the first principal components.

    Args:
        components: how many; 0 takes a hundredth of the dimensions, as the paper advises.

    Relations: `centering` takes the mean alone; `whitening` weakens strong components instead of removing them.

    Example:
        >>> rows = torch.tensor([[3.0, 0.1], [-3.0, 0.1], [0.0, -0.2]])
        >>> ComponentRemoval(components=1).fit([rows]).transform(rows).abs().max() < 0.21
        tensor(True)
    """

    name = "component removal"

    def __init__(self, components: int = 0) -> None:
        super().__init__()
        self.components = at_least("components", components, 0, of="component-removal")

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Take mean and principal components over all batches."""
        moments = Moments(batches, of=self.name).enough()
        width = len(moments.mean)
        if self.components >= width:
            raise MirrormaskError(
                f"The 'components' of component-removal must be below the dimensions of a vector, {width}. "
                f"Got {self.components}."
            )
        taken = moments.components()[1][:, : self.components or max(1, width // 100)]
        self.mean = torch.from_numpy(moments.mean).float()
        self.matrix = torch.from_numpy(np.eye(width) - taken @ taken.T).float()
        return self
