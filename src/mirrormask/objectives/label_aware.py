"""Label-aware contrast: negatives of a class that is easily confused with the anchor's count for more.

Paper: Suresh and Ong 2021, "Not All Negatives are Equal: Label-Aware Contrastive Loss for Fine-grained Text
    Classification", Eq. 3 as its authors corrected it: the weight of the numerator stands outside the logarithm

    loss_i = -w_{i,y_i} / |P(i)| sum_{p in P(i)} log( exp(s_ip) / sum_{k != i} w_{i,y_k} exp(s_ik) )
    s_ij = cos(h_i, h_j) / t

w_i is the softmax of a second network, the weighting network, which learns the classes beside the first. Its released
code trains it through this loss too; `detach` lets it learn by its own cross-entropy alone.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.similarity import cosine
from mirrormask.objectives.sup_con import same_class


def label_aware(vectors: Tensor, labels: Tensor, logits: Tensor, *, temperature: float, detach: bool = False) -> Tensor:
    """Return the mean of the losses over the anchors that have a positive.

    Args:
        vectors: sentence vectors (n, d).
        labels: class of each row (n,).
        logits: of the weighting network (n, classes).
        temperature: what cosines are divided by.
        detach: take the weights as they are, so that this loss does not train the weighting network.
    """
    if len(vectors) < 2:
        return (vectors.sum() + logits.sum()) * 0
    weights = F.log_softmax(logits.detach() if detach else logits, dim=1)
    itself = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)
    scores = cosine(vectors, vectors) / temperature  # (n, n)
    others = (scores + weights[:, labels]).masked_fill(itself, -torch.inf)
    logs = scores - others.logsumexp(dim=1, keepdim=True)
    same = same_class(labels)
    counts = same.sum(dim=1)
    own = weights.gather(1, labels[:, None])[:, 0].exp()
    losses = -own * logs.masked_fill(~same, 0).sum(dim=1) / counts.clamp(min=1)
    return losses.sum() / (counts > 0).sum().clamp(min=1)
