"""Transforms: maps of sentence vectors that are fitted once, on vectors alone, and kept with the encoder.

What a pooling puts on top in training only is thrown away after it; a transform is part of what is saved. Its module is
one of sentence-transformers' own wherever that is possible, so that plain `SentenceTransformer(path)` opens it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Self

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


class Affine(Transform):
    """A map `(x - mean) W`, which a `Dense` of sentence-transformers' own is: the saved model needs no mirrormask."""

    def __init__(self) -> None:
        self.mean: Tensor | None = None
        self.matrix: Tensor | None = None

    def transform(self, vectors: Tensor) -> Tensor:
        """Return the mapped vectors (n, k)."""
        mean, matrix = self._fitted()
        return (vectors - mean.to(vectors.device)) @ matrix.to(vectors.device)

    def module(self) -> nn.Module:
        """Return the map as a `Dense` without activation."""
        mean, matrix = self._fitted()
        bias = -(mean.double() @ matrix.double()).float()
        identity = nn.Identity()
        return Dense(*matrix.shape, activation_function=identity, init_weight=matrix.T.contiguous(), init_bias=bias)

    def _fitted(self) -> tuple[Tensor, Tensor]:
        if self.mean is None or self.matrix is None:
            raise not_fitted()
        return self.mean, self.matrix


def not_fitted() -> DataError:
    """Return the error of a transform that is used before it knows any vectors."""
    return DataError("A transform must be fitted before it is used. Call `fit` with some vectors.")


def keep(encoder: Any, transform: Transform) -> None:
    """Put a fitted transform behind the modules of an encoder, to be saved and described with it."""
    put_on(encoder, transform.module().requires_grad_(False), transform.name)


def put_on(encoder: Any, module: nn.Module, name: str) -> None:
    """Put a module behind those of an encoder, under a name that `info` tells."""
    encoder.append(module.to(next(encoder.parameters()).device))
    before = getattr(encoder, "mirrormask_transform", "")
    encoder.mirrormask_transform = " + ".join(each for each in (before, name) if each)
