"""A mask on the trivial features: the smallest elements of the sentence vector go.

Paper: Park 2023, "Data Augmentation, Stabilization and Negative Sample Generation Methods for Improving Sentence
    Embeddings of SimCSE", Section 4.1.1, "Mask on trivial features"; after Han et al. 2015, "Learning both Weights and
    Connections for Efficient Neural Networks"

    z'_j = 0 where |z_j| is among the smallest round(share * d) of its row, else z_j
"""

from __future__ import annotations

from torch import Tensor

from mirrormask.core.errors import between
from mirrormask.views import View, views


def mask_smallest(z: Tensor, share: float) -> Tensor:
    """Return vectors (n, d) with a share of each row, the smallest by size, at zero."""
    places = z.abs().topk(round(share * z.shape[1]), dim=1, largest=False).indices
    return z.scatter(1, places, 0.0)


@views.register("output-smallest")
class OutputSmallest(View):
    """Set the smallest elements of each sentence vector to zero.

    Args:
        share: of the elements (Section 4.1.1 takes 0.1).
        before_head: whether it comes before the training-only head.

    Relations: `output-largest` does the opposite; `output-mask` chooses at random.

    Example:
        >>> import torch
        >>> OutputSmallest(share=0.5).output(torch.tensor([[3.0, -1.0, 2.0, -4.0]])).tolist()
        [[3.0, 0.0, 0.0, -4.0]]
    """

    shares_forward = True

    def __init__(self, share: float = 0.1, before_head: bool = False) -> None:
        super().__init__()
        self.share = between("share", share, 0, 1, of="output-smallest")
        self.before_head = before_head

    def output(self, z: Tensor) -> Tensor:
        """Return masked sentence vectors."""
        return mask_smallest(z, self.share)
