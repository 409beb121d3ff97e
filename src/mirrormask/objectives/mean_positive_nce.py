"""One positive of several: their mean is found among all anchors and all means.

Paper: Giorgi et al. 2021, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations", Section 3.1

    e_i+ = 1/P sum_p f(s_i,p);   loss = NT-Xent over the 2n vectors e_i and e_i+

Every further column of a row is a further positive here, and no hard negative.
"""

from __future__ import annotations

import torch
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above
from mirrormask.objectives import Objective, objectives
from mirrormask.objectives.mirror_nce import mirror_nce


@objectives.register("mean-positive-nce")
class MeanPositiveNCE(Objective):
    """Find the mean of an anchor's positives among the vectors of both sides.

    Args:
        temperature: what cosines are divided by (0.05 in the published configuration).

    Relations: `mirror-nce` with one positive. The pairing `declutr-spans` gives several.

    Example:
        >>> step = Step(torch.eye(2), torch.eye(2), hard=torch.eye(2)[:, None])
        >>> round(MeanPositiveNCE(temperature=1.0)(step).item(), 4)  # log(e + 2) - 1
        0.5514
    """

    in_batch = True

    def __init__(self, temperature: float = 0.05) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="mean-positive-nce")

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step."""
        positive = step.positive
        if step.hard is not None:
            positive = torch.cat([positive[:, None], step.hard], dim=1).mean(dim=1)
        texts = None if step.text_ids is None else step.text_ids[:, :2]
        return mirror_nce(step.anchor, positive, temperature=self.temperature, extra=step.extra, text_ids=texts)
