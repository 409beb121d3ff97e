"""What a masked LM learns from besides its masks: losses on the mean of a row's states, from the same forward.

`bag`: a weak decoder rebuilds from one vector, without positions, the words hidden in its row, so that the vector has
to carry them. Rare words count more, w = min(1, sqrt(t / f)), as in word2vec's subsampling.
Papers: Pagliardini et al. 2018, "Unsupervised learning of sentence embeddings using compositional n-gram features"
(predicting a missing word from the average of the rest); Xiao et al. 2022, "RetroMAE" (a weak decoder).

`neighbors`: rows that follow each other in the text find each other among all rows of the batch (`mirror_nce`).
Paper: Giorgi et al. 2021, "DeCLUTR" (spans of one document as positives beside the masked LM's loss).
"""

from __future__ import annotations

from torch import Tensor
from torch.nn import functional as F

from mirrormask.pretraining.masking import IGNORED


def row_vectors(states: Tensor, mask: Tensor) -> Tensor:
    """Return the mean state (n, d) of each row's tokens; `mask` (n, length) says which count."""
    weight = mask.to(states.dtype)[:, :, None]
    return (states * weight).sum(1) / weight.sum(1)


def bag_loss(scores: Tensor, labels: Tensor, weights: Tensor) -> Tensor:
    """Return the weighted mean cross-entropy of the hidden words under one distribution per row.

    L = - sum_ij w(y_ij) log softmax(s_i)[y_ij] / sum_ij w(y_ij)

    Args:
        scores: of the vocabulary, one distribution per row (n, vocabulary).
        labels: the hidden words of each row (n, k); `IGNORED` counts nothing.
        weights: of each word of the vocabulary (vocabulary,).
    """
    there = labels != IGNORED
    words = labels.clamp(min=0)
    found = F.log_softmax(scores.float(), dim=-1).gather(1, words)  # (n, k)
    weight = weights[words] * there
    return -(weight * found).sum() / weight.sum().clamp(min=1e-6)


def word_weights(counts: Tensor, threshold: float = 1e-4) -> Tensor:
    """Return sqrt(t / f) of each word's frequency f, at most 1."""
    frequency = counts.double() / counts.sum()
    return (threshold / frequency.clamp(min=1e-12)).sqrt().clamp(max=1.0).float()
