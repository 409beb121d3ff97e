"""Plain: one pass, the gradient as it is.

Paper: Robbins and Monro 1951, "A stochastic approximation method"
"""

from __future__ import annotations

from torch import Tensor, nn

from mirrormask.stabilizers import Closure, Stabilizer, stabilizers


@stabilizers.register("plain")
class Plain(Stabilizer):
    """Use the gradient of one pass.

    Example:
        >>> Plain().passes
        1
    """

    def step(self, closure: Closure, model: nn.Module) -> Tensor:
        """Run the closure once."""
        return closure()
