"""Local and global: a sentence vector tells the n-grams of its own sentence from those of others.

Paper: Zhang et al. 2020, "An Unsupervised Sentence Embedding Method by Mutual Information Maximization" (IS-BERT),
    Section 3.1, Eq. 1 to 3; the estimator is that of Hjelm et al. 2019, "Learning deep representations by mutual
    information estimation and maximization"

    c_t = ReLU(W_k h_t-(k-1)/2..t+(k-1)/2 + b_k) for the windows k = 1, 3, 5, side by side;  T(c, e) = c . e
    loss = mean_t softplus(-T(c_t(x), e(x))) + mean_t,x' softplus(T(c_t(x), e(x'))),  x' the other sentences

The published code adds a constant. The convolutions are trained and not kept: e is the vector of the encoder that is
saved. The paper's own e is the mean of the c_t, so that its encoder ends in the convolutions, which read padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.transfer import to_device
from mirrormask.objectives import Ask, Objective, Seen, objectives

WINDOWS = (1, 3, 5)
"""Tokens of an n-gram, as published."""


def jensen_shannon_bound(local: Tensor, vectors: Tensor, owner: Tensor) -> Tensor:
    """Return the negative of the lower bound of the mutual information.

    Args:
        local: features of all tokens (t, d).
        vectors: of all sentences (n, d).
        owner: the sentence of each token (t,).
    """
    scores = local @ vectors.T  # (t, n)
    own = owner[:, None] == torch.arange(len(vectors), device=owner.device)
    near = F.softplus(-scores[own]).mean()
    far = (F.softplus(scores) * ~own).sum() / max(1, own.numel() - len(local))
    return near + far


@objectives.register("local-global")
class LocalGlobal(Objective):
    """Let a sentence vector tell the n-grams of its sentence from those of the other sentences.

    Relations: it compares a vector with tokens and not with a second view, so it needs one forward only.

    Example:
        >>> LocalGlobal().reads_views
        True
    """

    in_batch = True
    needs_encoder = True
    reads_views = True

    def __init__(self) -> None:
        super().__init__()
        self.windows: nn.ModuleList | None = None

    def attach(self, encoder: Any) -> None:
        """Make the convolutions, whose features are as wide together as a sentence vector."""
        wide = encoder.get_embedding_dimension()
        states = encoder[0].model.config.hidden_size
        shares = [len(part) for part in np.array_split(np.arange(wide), len(WINDOWS))]
        self.windows = nn.ModuleList(
            nn.Conv1d(states, share, window, padding=window // 2) for share, window in zip(shares, WINDOWS, strict=True)
        )

    def show(self, batch: Batch) -> dict[int, Ask]:
        """Return the anchors as they are, and all of their positions."""
        rows = batch.columns[0]
        owner = torch.from_numpy(np.repeat(np.arange(len(rows)), rows.lengths))
        return {0: Ask(rows, tuple(np.arange(length) for length in rows.lengths), owner)}

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        """Return the loss of this process's sentences, each with the others as negatives."""
        if self.windows is None:
            raise MirrormaskError("The objective local-global must be attached to an encoder before training.")
        states, vectors = seen[0].states, seen[0].vectors
        owner = to_device(shown[0].answers, states.device)
        lengths = shown[0].rows.lengths
        place = to_device(torch.from_numpy(np.concatenate([np.arange(length) for length in lengths])), states.device)
        rows = states.new_zeros(len(vectors), int(lengths.max()), states.shape[1])
        rows[owner, place] = states  # beyond a row there is nothing, so no n-gram reaches into another
        features = torch.cat([window(rows.transpose(1, 2)) for window in self.windows], dim=1).transpose(1, 2)
        return jensen_shannon_bound(F.relu(features)[owner, place], vectors, owner)
