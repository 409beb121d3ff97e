"""InfoNCE: pull each anchor to its positive, push it from everything else in the batch.

Paper: Gao et al. 2021, "SimCSE", Eq. 1 (one direction) and Eq. 5 (hard negatives)

    loss_i = -log( exp(cos(a_i, p_i) / t) / sum_j exp(cos(a_i, p_j) / t) )

Where a text stands in a batch more than once (the next sentence of one pair is the first of another; one premise has
several entailments), the paper's loss pushes it from itself. Such candidates are left out of the sum, unless
`mask_same_text` is off.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import above, between
from mirrormask.core.similarity import cosine
from mirrormask.objectives import Objective, objectives


def same_texts(text_ids: Tensor) -> Tensor:
    """Return which candidates are no negatives of an anchor (n, n + n*k): its own texts again, and its anchor's pairs.

    Args:
        text_ids: a number for each text (n, 2 + k): anchor, positive, hard negatives; (n, 1) where both are one.
    """
    n = len(text_ids)
    anchor, positive = text_ids[:, 0], text_ids[:, min(1, text_ids.shape[1] - 1)]
    candidates = torch.cat([positive, text_ids[:, 2:].flatten()])
    same = (candidates == anchor[:, None]) | (candidates == positive[:, None])
    same[:, :n] |= anchor == anchor[:, None]
    return same & ~torch.eye(n, len(candidates), dtype=torch.bool, device=same.device)


def info_nce(
    anchor: Tensor,
    positive: Tensor,
    *,
    temperature: float,
    hard: Tensor | None = None,
    extra: Tensor | None = None,
    hard_weight: float = 0.0,
    label_smoothing: float = 0.0,
    text_ids: Tensor | None = None,
) -> Tensor:
    """Return the mean cross-entropy of finding each anchor's positive among all candidates.

    Args:
        anchor: sentence vectors (n, d).
        positive: sentence vectors (n, d); row i belongs to anchor i.
        temperature: what cosines are divided by.
        hard: hard negatives (n, k, d); every anchor sees all n * k of them.
        extra: generated or remembered negatives (m, d).
        hard_weight: a logit added where an anchor meets its own hard negatives.
        label_smoothing: share of the target spread over all candidates.
        text_ids: a number for each text, as `same_texts` takes them; the same text again is no candidate.
    """
    n = len(anchor)
    pools = (positive, None if hard is None else hard.flatten(0, 1), extra)
    scores = cosine(anchor, torch.cat([p for p in pools if p is not None])) / temperature  # (n, n + n*k + m)
    own = torch.arange(n, device=anchor.device)
    if hard is not None and hard_weight:
        k = hard.shape[1]
        bonus = torch.zeros_like(scores)
        bonus[own[:, None], n + own[:, None] * k + torch.arange(k, device=anchor.device)] = hard_weight
        scores = scores + bonus
    if text_ids is None:
        return F.cross_entropy(scores, own, label_smoothing=label_smoothing)
    same = same_texts(text_ids)
    same = F.pad(same, (0, scores.shape[1] - same.shape[1]))
    logs = F.log_softmax(scores.masked_fill(same, -torch.inf), dim=1)
    spread = logs.masked_fill(same, 0).sum(dim=1) / (~same).sum(dim=1)
    return -((1 - label_smoothing) * logs[own, own] + label_smoothing * spread).mean()


@objectives.register("info-nce")
class InfoNCE(Objective):
    """In-batch contrastive loss over cosine similarities.

    Args:
        temperature: what cosines are divided by; smaller looks harder at the nearest negatives.
        both_directions: also find each positive's anchor, and average.
        label_smoothing: share of the target spread over all candidates.
        hard_weight: a logit added where an anchor meets its own hard negatives.
        mask_same_text: whether a text that stands in the batch again is no negative of its own (the papers' code
            pushes it away).

    Relations: one direction is SimCSE's loss; both are CLIP's and `symmetric MultipleNegativesRankingLoss`.

    Example:
        >>> import torch
        >>> from mirrormask.core.batch import Step
        >>> step = Step(torch.eye(2), torch.eye(2))
        >>> round(InfoNCE(temperature=1.0)(step).item(), 4)
        0.3133
    """

    in_batch = True

    def __init__(
        self,
        temperature: float = 0.05,
        both_directions: bool = False,
        label_smoothing: float = 0.0,
        hard_weight: float = 0.0,
        mask_same_text: bool = True,
    ) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="info-nce")
        self.both_directions = both_directions
        self.label_smoothing = between("label_smoothing", label_smoothing, 0, 1, of="info-nce")
        self.hard_weight = hard_weight
        self.mask_same_text = mask_same_text

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step."""
        texts = step.text_ids if self.mask_same_text else None
        loss = info_nce(
            step.anchor,
            step.positive,
            hard=step.hard,
            extra=step.extra,
            temperature=self.temperature,
            hard_weight=self.hard_weight,
            label_smoothing=self.label_smoothing,
            text_ids=texts,
        )
        if not self.both_directions:
            return loss
        back = info_nce(
            step.positive,
            step.anchor,
            extra=step.extra,
            temperature=self.temperature,
            label_smoothing=self.label_smoothing,
            text_ids=None if texts is None else texts[:, :2].flip(1),
        )
        return (loss + back) / 2
