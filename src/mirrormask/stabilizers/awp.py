"""Adversarial weight perturbation: the gradient at weights that were made worse, matrix by matrix.

Paper: Wu et al. 2020, "Adversarial Weight Perturbation Helps Robust Generalization", Eq. 7 to 10; in the study of
    SimCSE, Park 2023, Section 4.2

    v = gamma * |w| * g / |g|  for every weight matrix w with its own gradient g
    v <- min(max(v, -epsilon * |w_j|), epsilon * |w_j|)  element by element, where epsilon is set
    the update of w takes the gradient at w + v

Biases and norms stay, as in the paper's code. The clip is that of the form common in language processing: with a large
gamma it alone decides, and every element moves by a share epsilon of itself. The thesis leaves both open. Perturbed
inputs come from a view (`gaussian-noise`, `fgsm`).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mirrormask.core.errors import above, at_least
from mirrormask.stabilizers import Closure, Stabilizer, elsewhere, stabilizers


@torch.no_grad()
def worsen(weights: list[Tensor], gradients: list[Tensor], gamma: float, epsilon: float = 0.0) -> None:
    """Move each weight in place by `gamma` of its norm along its own gradient; the gradients are used up.

    Args:
        weights: the matrices.
        gradients: one each.
        gamma: length of the step, as a share of the norm of the weight.
        epsilon: most that an element may move, as a share of itself; 0 sets no bound.
    """
    scales = torch._foreach_norm(weights)
    lengths = torch._foreach_norm(gradients)
    torch._foreach_mul_(scales, gamma)
    torch._foreach_add_(lengths, 1e-12)
    torch._foreach_div_(scales, lengths)
    torch._foreach_mul_(gradients, scales)
    if epsilon:
        bounds = torch._foreach_abs(weights)
        torch._foreach_mul_(bounds, epsilon)
        torch._foreach_minimum_(gradients, bounds)
        torch._foreach_neg_(bounds)
        torch._foreach_maximum_(gradients, bounds)
    torch._foreach_add_(weights, gradients)
    gradients.clear()  # their memory is free for the next pass


@stabilizers.register("awp")
class AWP(Stabilizer):
    """Take the gradient where every weight matrix is moved against the loss.

    Args:
        gamma: how far a matrix moves, as a share of its norm (the paper takes 0.005 for images); of 0.0003,
            0.001, 0.003 and 0.01, with and without `redraw`, the default is best on STS-B dev.
        epsilon: most that an element may move, as a share of itself; 0 sets no bound.
        redraw: whether the second pass draws other dropout; otherwise it replays the first's.

    Relations: `sam` moves all weights together, by an absolute length.

    Example:
        >>> AWP().passes
        2
    """

    passes = 2

    def __init__(self, gamma: float = 0.01, epsilon: float = 0.0, redraw: bool = False) -> None:
        super().__init__()
        self.gamma = above("gamma", gamma, 0, of="awp")
        self.epsilon = at_least("epsilon", epsilon, 0, of="awp")
        self.redraw = redraw

    def step(self, closure: Closure, model: nn.Module) -> Tensor:
        """Return the loss at the weights, and leave the gradient of the point nearby."""
        loss = closure()
        with elsewhere(model, least_dimensions=2) as (weights, gradients):
            worsen(weights, gradients, self.gamma, self.epsilon)
            closure(draw=int(self.redraw))
        return loss
