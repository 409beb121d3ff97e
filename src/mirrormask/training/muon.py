"""Muon for the matrices inside a model, AdamW for all else: every direction of a matrix moves by the same amount.

An update is the momentum of the gradient with its singular values set to one, U V^T for U S V^T, by five steps of an
odd polynomial that pulls them there, X <- a X + b (X X^T) X + c (X X^T)^2 X. It is scaled by 0.2 sqrt(max(rows,
columns)), the size of AdamW's updates, so that AdamW's rates hold.
Papers: Jordan et al. 2024, "Muon: an optimizer for hidden layers in neural networks" (the polynomial and momentum);
    Liu et al. 2025, "Muon is scalable for LLM training", Section 2.2 (the scale and weight decay).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
STEPS = 5
MOMENTUM = 0.95
SCALE = 0.2


def orthogonal(matrices: Tensor) -> Tensor:
    """Return matrices (k, m, n) with their singular values near one, all at once.

    Args:
        matrices: of one shape; computed in bfloat16 on a GPU, where that is enough.
    """
    x = matrices.bfloat16() if matrices.is_cuda else matrices.float()
    tall = x.shape[-2] > x.shape[-1]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(-2, -1), keepdim=True) + 1e-7)
    a, b, c = COEFFICIENTS
    for _ in range(STEPS):
        square = x @ x.mT
        x = a * x + (b * square + c * square @ square) @ x
    return (x.mT if tall else x).to(matrices.dtype)


class Muon(torch.optim.AdamW):
    """AdamW whose groups marked `muon` are moved by Muon instead.

    Args:
        groups: parameter groups; those with `muon=True` hold matrices only.
        lr, betas, fused: AdamW's; `lr` is Muon's too.
    """

    def __init__(
        self, groups: list[dict[str, Any]], *, lr: float, betas: tuple[float, float], fused: bool = False
    ) -> None:
        super().__init__([{"muon": False, **group} for group in groups], lr=lr, betas=betas, fused=fused)

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        """Make one update."""
        whole = self.param_groups
        for group in whole:
            if group["muon"]:
                self._move(group)
        self.param_groups = [group for group in whole if not group["muon"]]
        try:
            return super().step(closure)
        finally:
            self.param_groups = whole

    def _move(self, group: dict[str, Any]) -> None:
        by_shape: dict[torch.Size, list[Tensor]] = {}
        for parameter in group["params"]:
            if parameter.grad is not None:
                by_shape.setdefault(parameter.shape, []).append(parameter)
        bad: Tensor | None = getattr(self, "found_inf", None)  # set where a gradient is no number: nothing moves then
        for shape, parameters in by_shape.items():
            gradients = [p.grad for p in parameters if p.grad is not None]
            if bad is not None:
                gradients = [torch.where(bad > 0, 0.0, gradient) for gradient in gradients]
            momenta = [self._momentum(p) for p in parameters]
            torch._foreach_lerp_(momenta, gradients, 1 - MOMENTUM)
            ahead = torch._foreach_lerp(gradients, momenta, MOMENTUM)
            updates = orthogonal(torch.stack(ahead)) * (SCALE * max(shape) ** 0.5)
            rate = group["lr"] if bad is None else group["lr"] * (1 - bad)
            for parameter, update in zip(parameters, updates, strict=True):
                parameter.mul_(1 - rate * group["weight_decay"]).sub_(rate * update)

    def _momentum(self, parameter: Tensor) -> Tensor:
        state = self.state[parameter]
        if not state:
            state["momentum"] = torch.zeros_like(parameter)
            state["step"] = torch.zeros(())  # AdamW looks for it in every state that it loads
        found: Tensor = state["momentum"]
        return found
