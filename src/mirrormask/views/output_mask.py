"""A random mask on the sentence vector.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.1, "Bernoulli dropout"

    z' = z * m,  m ~ Bernoulli(1 - rate) for every element

Nothing is scaled up, because a cosine does not see scale. With equal elements the cosine of z and z' is
sqrt(1 - rate): 0.949 at the thesis' rate, which chose it for that.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def mask_elements(z: Tensor, rate: float) -> Tensor:
    """Return vectors (n, d) with every element at zero with chance `rate`."""
    return z * (torch.rand_like(z) >= rate)


@views.register("output-mask")
class OutputMask(View):
    """Set random elements of the sentence vectors to zero.

    Args:
        rate: chance of an element (Section 4.1.1 takes 0.1).
        before_head: whether it comes before the training-only head.

    Relations: `output-smallest` and `output-largest` choose the elements by size.

    Example:
        >>> OutputMask().rate
        0.1
    """

    shares_forward = True

    def __init__(self, rate: float = 0.1, before_head: bool = False) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="output-mask")
        self.before_head = before_head

    def output(self, z: Tensor) -> Tensor:
        """Return masked sentence vectors."""
        return mask_elements(z, self.rate)
