"""Flow likelihood: how likely an encoder's vectors are under the flow that stands on it.

Paper: Li et al. 2020, "On the Sentence Embeddings from Pre-trained Language Models" (BERT-flow), Eq. 4; its code
    divides by the dimensions and by log 2 (bits per dimension)

    loss = -(log N(f(x); 0, 1) + log |det df(x)/dx|) / (d log 2),  f from the encoder's space to the Gaussian
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.glow import Flow, bits_per_dimension
from mirrormask.objectives import Objective, objectives


@objectives.register("flow-likelihood")
class FlowLikelihood(Objective):
    """Make the vectors of both views likely under the flow on the encoder, in bits per dimension.

    It teaches the flow and never the encoder, which could make its vectors likely by making them all alike: from the
    vectors of a step, which the flow has mapped, those of the encoder are found by its inverse.

    Relations: the transform `flow` learns by it alone, on vectors that were computed before; `bert-cf-flow` adds a
        contrastive term.

    Example:
        >>> round(FlowLikelihood()(Step(torch.zeros(1, 2), torch.zeros(1, 2))).item(), 4)  # log(2 pi) / (2 log 2)
        1.3257
    """

    def __init__(self) -> None:
        super().__init__()
        self._flow: tuple[Flow, ...] = ()  # in a tuple, so that its parameters are not registered twice

    def attach(self, encoder: Any) -> None:
        """Find the flow, the last of the encoder's modules."""
        last = list(encoder)[-1]
        if not isinstance(last, Flow):
            raise MirrormaskError("The objective flow-likelihood needs a flow on the encoder. Take bert-cf-flow.")
        self._flow = (last,)

    def forward(self, step: Step) -> Tensor:
        """Return the bits per dimension; without a flow, those of the vectors as they are."""
        z = torch.cat([step.anchor, step.positive])
        log_determinant = z.new_zeros(len(z))
        for flow in self._flow:
            with torch.no_grad():
                vectors = flow.inverse(z)
            z, log_determinant = flow.with_log_determinant(vectors)
        return bits_per_dimension(z, log_determinant)
