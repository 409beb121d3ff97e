"""How far a second mask moves a state: by distance, by angle, or by the chance of the word that was there.

Paper: Wu et al. 2020, "Perturbed Masking: Parameter-free Probing for Analyzing and Interpreting BERT", section 2
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

_HEAD_ROWS = 4_096  # so many rows of vocabulary scores are held at a time


@dataclass(frozen=True)
class Measure:
    """One way to compare two states.

    Args:
        compare: of two sets of vectors (q, d), one number per row (q,).
        same: what it gives for a state and itself.
        of_probability: whether the vectors are the chance of the token that was there (q, 1), not states.
    """

    compare: Callable[[Tensor, Tensor], Tensor]
    same: float = 0.0
    of_probability: bool = False


def euclidean(one: Tensor, other: Tensor) -> Tensor:
    """Return the distance of each two rows.

    Example:
        >>> euclidean(torch.tensor([[3.0, 4.0]]), torch.tensor([[0.0, 0.0]])).tolist()
        [5.0]
    """
    return torch.linalg.vector_norm(one - other, dim=-1)


def cosine_similarity(one: Tensor, other: Tensor) -> Tensor:
    """Return the cosine of the angle between each two rows."""
    return torch.nn.functional.cosine_similarity(one, other, dim=-1)


def cosine(one: Tensor, other: Tensor) -> Tensor:
    """Return one less the cosine of the angle: larger where the states differ more."""
    return 1.0 - cosine_similarity(one, other)


MEASURES: dict[str, Measure] = {
    "euclidean": Measure(euclidean),
    "cosine": Measure(cosine),
    # what the released code calls 'cos': it grows with likeness, so trees built on it prefer words without influence
    "cosine-similarity": Measure(cosine_similarity, same=1.0),
    "probability": Measure(euclidean, of_probability=True),
}
"""The measures by name."""


def probability(head: Callable[[Tensor], Tensor], states: Tensor, tokens: Tensor) -> Tensor:
    """Return the chance a masked LM gives each token at its state (q, 1).

    Args:
        head: from states (q, d) to vocabulary scores (q, vocabulary).
        states: last-layer states (q, d).
        tokens: the id whose chance is asked for (q,).
    """
    found = []
    for some, ids in zip(states.split(_HEAD_ROWS), tokens.split(_HEAD_ROWS), strict=True):
        found.append(head(some).float().log_softmax(-1).gather(1, ids[:, None]).exp())
    return torch.cat(found)
