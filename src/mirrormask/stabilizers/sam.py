"""Sharpness-aware minimization: the gradient at the worst point near the weights, used at the weights.

Paper: Foret et al. 2021, "Sharpness-Aware Minimization for Efficiently Improving Generalization", Eq. 2 and
    Algorithm 1; in the study of SimCSE, Park 2023, Section 4.2, with rho 0.05

    w' = w + rho * g / |g|,  g the gradient at w over all weights together;  the update takes the gradient at w'
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mirrormask.core.errors import above
from mirrormask.stabilizers import Closure, Stabilizer, elsewhere, stabilizers


@torch.no_grad()
def ascend(weights: list[Tensor], gradients: list[Tensor], rho: float) -> None:
    """Move the weights in place by `rho` along their joint gradient; the gradients are used up."""
    norm = torch.nn.utils.get_total_norm(gradients)
    torch._foreach_mul_(gradients, rho / (norm + 1e-12))
    torch._foreach_add_(weights, gradients)
    gradients.clear()  # their memory is free for the next pass


@stabilizers.register("sam")
class SAM(Stabilizer):
    """Take the gradient where the loss nearby is highest.

    Args:
        rho: how far that is (the thesis takes 0.05).
        redraw: whether the second pass draws other dropout; otherwise it replays the first's, so that the two points
            differ in the weights alone.

    Relations: `awp` moves every matrix by a share of its own norm.

    Example:
        >>> SAM().passes
        2
    """

    passes = 2

    def __init__(self, rho: float = 0.05, redraw: bool = False) -> None:
        super().__init__()
        self.rho = above("rho", rho, 0, of="sam")
        self.redraw = redraw

    def step(self, closure: Closure, model: nn.Module) -> Tensor:
        """Return the loss at the weights, and leave the gradient of the point nearby."""
        loss = closure()
        with elsewhere(model) as (weights, gradients):
            ascend(weights, gradients, self.rho)
            closure(draw=int(self.redraw))
        return loss
