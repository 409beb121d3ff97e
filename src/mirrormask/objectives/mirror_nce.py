"""Mirror-NCE: every vector of the batch, of either view, finds its partner among all others.

Paper: Liu et al. 2021, "Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal
    Lexical and Sentence Encoders" (Mirror-BERT), Eq. 1; the loss is NT-Xent of Chen et al. 2020, "SimCLR"

    loss_i = -log( exp(cos(x_i, x_i') / t) / sum_(j != i) exp(cos(x_i, x_j) / t) ),  x the 2n vectors of both views

So there are 2n - 1 candidates: one partner and 2n - 2 negatives, the own view's among them. Two halves of it show what
each does (the paper's second ablation): positives alone are the numerator, -cos(x_i, x_i') / t, and negatives alone the
logarithm of the denominator without the partner.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError, above
from mirrormask.core.similarity import cosine
from mirrormask.objectives import Objective, objectives


def mirror_nce(
    anchor: Tensor,
    positive: Tensor,
    *,
    temperature: float,
    both_directions: bool = True,
    extra: Tensor | None = None,
    text_ids: Tensor | None = None,
    positives: bool = True,
    negatives: bool = True,
) -> Tensor:
    """Return the mean cross-entropy of finding each vector's partner among all vectors but itself.

    Args:
        anchor: sentence vectors (n, d).
        positive: sentence vectors (n, d); row i belongs to anchor i.
        temperature: what cosines are divided by.
        both_directions: whether positives look for their anchors too; otherwise anchors alone look.
        extra: further negatives (m, d).
        text_ids: a number for the text of each anchor and positive (n, 2), or of both (n, 1); a text of the pair that
            stands in the batch again is no candidate.
        positives: whether partners are pulled together.
        negatives: whether others are pushed away.
    """
    n = len(anchor)
    both = torch.cat([anchor, positive])
    asking = both if both_directions else anchor
    scores = cosine(asking, both if extra is None else torch.cat([both, extra])) / temperature  # (2n, 2n + m)
    place = torch.arange(len(asking), device=scores.device)
    partner = (place + n) % (2 * n)
    left_out = torch.zeros_like(scores, dtype=torch.bool)
    if text_ids is not None:
        ids = torch.cat([text_ids[:, 0], text_ids[:, min(1, text_ids.shape[1] - 1)]])
        mine, theirs = ids[place, None], ids[partner, None]
        left_out[:, : 2 * n] = (ids == mine) | (ids == theirs)
        left_out[place, partner] = False
    left_out[place, place] = True
    if not negatives:
        return -scores[place, partner].mean()
    if not positives:
        left_out[place, partner] = True
        return scores.masked_fill(left_out, -torch.inf).logsumexp(dim=1).mean()
    return F.cross_entropy(scores.masked_fill(left_out, -torch.inf), partner)


@objectives.register("mirror-nce")
class MirrorNCE(Objective):
    """Find each vector's partner among the vectors of both views.

    Args:
        temperature: what cosines are divided by (Mirror-BERT takes 0.04 for sentences, 0.2 for words).
        both_directions: whether positives look for their anchors too, as in the paper; BERT-CF's form has one.
        positives: whether partners are pulled together; without it negatives alone teach.
        negatives: whether others are pushed away; without it positives alone teach, and all vectors may become one.

    Relations: `info-nce` has the n positives as candidates; here the anchors are candidates too. `pretrain` uses it on
        neighboring rows.

    Example:
        >>> step = Step(torch.eye(2), torch.eye(2))
        >>> round(MirrorNCE(temperature=1.0)(step).item(), 4)  # log(e + 2) - 1
        0.5514
    """

    in_batch = True

    def __init__(
        self,
        temperature: float = 0.04,
        both_directions: bool = True,
        positives: bool = True,
        negatives: bool = True,
    ) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="mirror-nce")
        self.both_directions = both_directions
        if not positives and not negatives:
            raise MirrormaskError("mirror-nce needs positives or negatives to learn from. Set one of them to true.")
        self.positives = positives
        self.negatives = negatives

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard negatives are negatives like all others."""
        more = [None if step.hard is None else step.hard.flatten(0, 1), step.extra]
        extra = [each for each in more if each is not None]
        return mirror_nce(
            step.anchor,
            step.positive,
            temperature=self.temperature,
            both_directions=self.both_directions,
            extra=torch.cat(extra) if extra else None,
            text_ids=step.text_ids,
            positives=self.positives,
            negatives=self.negatives,
        )
