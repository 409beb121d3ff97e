"""Transforms: maps of sentence vectors that are fitted once, on vectors alone, and kept with the encoder.

What a pooling puts on top in training only is thrown away after it; a transform is part of what is saved. Its module is
one of sentence-transformers' own wherever that is possible, so that plain `SentenceTransformer(path)` opens it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

import torch
from sentence_transformers.base.modules import Dense
from torch import Tensor, nn

from mirrormask.core.errors import DataError


class Transform(ABC):
    """A map of sentence vectors (n, d) to others (n, k)."""

    name = ""
    """What `info` calls it."""

    @abstractmethod
    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Learn the map from vectors, a batch (n, d) at a time, and return itself."""

    @abstractmethod
    def transform(self, vectors: Tensor) -> Tensor:
        """Return the mapped vectors."""

    @abstractmethod
    def module(self) -> nn.Module:
        """Return the map as a module that stands after the pooling and is saved with the encoder."""


class Centering(Transform):
    """Move the origin to the mean of the vectors: what all sentences share says nothing about one.

    Mu and Viswanath 2018, "All-but-the-top", without its second step; the translation of Su et al. 2021,
    "BERT-whitening".

    Example:
        >>> Centering().fit([torch.ones(2, 3), torch.zeros(2, 3)]).transform(torch.ones(1, 3)).tolist()
        [[0.5, 0.5, 0.5]]
    """

    name = "centering"

    def __init__(self) -> None:
        self.mean: Tensor | None = None

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Take the mean over all batches."""
        count, total = 0, torch.zeros((), dtype=torch.float64)
        for batch in batches:
            total = total + batch.detach().cpu().double().sum(dim=0)
            count += len(batch)
        if not count:
            raise DataError("A transform is fitted on vectors, and there is none. Give it some text.")
        self.mean = (total / count).float()
        return self

    def transform(self, vectors: Tensor) -> Tensor:
        """Return the vectors without the mean."""
        return vectors - self._fitted().to(vectors.device)

    def module(self) -> nn.Module:
        """Return a `Dense` that leaves vectors as they are but for the mean."""
        mean = self._fitted()
        size = len(mean)
        return Dense(size, size, activation_function=nn.Identity(), init_weight=torch.eye(size), init_bias=-mean)

    def _fitted(self) -> Tensor:
        if self.mean is None:
            raise DataError("A transform must be fitted before it is used. Call `fit` with some vectors.")
        return self.mean


def keep(encoder: Any, transform: Transform) -> None:
    """Put a fitted transform behind the modules of an encoder, to be saved and described with it."""
    module = transform.module().to(next(encoder.parameters()).device).requires_grad_(False)
    encoder.append(module)
    before = getattr(encoder, "mirrormask_transform", "")
    encoder.mirrormask_transform = " + ".join(name for name in (before, transform.name) if name)
