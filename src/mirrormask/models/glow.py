"""Glow over sentence vectors: an invertible network that maps what an encoder gives to a standard Gaussian.

Li et al. 2020, "On the Sentence Embeddings from Pre-trained Language Models" (BERT-flow), after Kingma and Dhariwal
2018, "Glow". A step is an affine map of each dimension (ActNorm, started from data), a permutation and an additive
coupling; after every level but the last, half of the dimensions leave. Coupling, permutation and linear maps are those
of zuko; ActNorm's start from data and the levels are what it lacks.

At inference vectors go from the encoder's space to the Gaussian: the flow's `forward`. BERT-CF prints its map the other
way round, and shifts the second half by a network of itself, which could not be inverted.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from sentence_transformers.base.modules.module import Module
from torch import Tensor, nn
from torch.distributions import AffineTransform

from mirrormask.core.errors import DataError, MirrormaskError, between, one_of

PERMUTATIONS = ("reverse", "learned")
"""Fixed and reversing, as published for BERT-flow; or a learned linear map, Glow's 1x1 convolution."""

FASTER = 3.0
"""Glow's factor on logarithms of scales, which lets them learn faster than other weights."""


@dataclass(frozen=True)
class FlowShape:
    """How a flow is built.

    Args:
        levels: after each but the last, half of the dimensions leave (BERT-flow: 3).
        depth: steps of a level (BERT-flow: 3).
        width: of the couplings' hidden layers (BERT-flow: 32).
        permutation: `reverse`, or `learned` for a linear map.
    """

    levels: int = 3
    depth: int = 3
    width: int = 32
    permutation: str = "reverse"

    def __post_init__(self) -> None:
        for name, most in (("levels", 30), ("depth", 1000), ("width", 100_000)):
            between(name, getattr(self, name), 1, most, of="a flow")
        one_of("permutation", self.permutation, PERMUTATIONS, of="a flow")


class ActNorm(nn.Module):
    """An affine map of each dimension that gives the first vectors mean 0 and variance 1.

    Args:
        width: dimensions.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(width))
        self.log_scale = nn.Parameter(torch.zeros(width))

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Start from vectors (n, d)."""
        self.bias.copy_(-x.mean(dim=0))
        self.log_scale.copy_(-torch.log(x.std(dim=0) + 1e-6) / FASTER)

    def transform(self) -> Any:
        """Return the map as it is now."""
        scale = torch.exp(FASTER * self.log_scale)
        return AffineTransform(self.bias * scale, scale, event_dim=1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the mapped vectors."""
        return (x + self.bias) * torch.exp(FASTER * self.log_scale)


class Shift(nn.Module):
    """The network of a coupling: three layers, the last of which starts at zero, so that a fresh step shifts nothing.

    Args:
        given: dimensions of the half that it reads.
        shifted: dimensions of the half that is shifted.
        width: of the hidden layers.
    """

    def __init__(self, given: int, shifted: int, width: int) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(given, width, bias=False), nn.Linear(width, width, bias=False)
        self.norms = nn.ModuleList([ActNorm(width), ActNorm(width)])
        self.last = nn.Linear(width, shifted)
        self.log_scale = nn.Parameter(torch.zeros(shifted))
        for layer in (self.first, self.second):
            nn.init.normal_(layer.weight, std=0.05)
        nn.init.zeros_(self.last.weight)
        nn.init.zeros_(self.last.bias)

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Start the norms from vectors (n, d)."""
        for layer, norm in zip((self.first, self.second), self.norms, strict=True):
            norm.initialize(layer(x))  # type: ignore[operator]
            x = torch.relu(norm(layer(x)))

    def forward(self, x: Tensor) -> Tensor:
        """Return by how much the other half is moved."""
        for layer, norm in zip((self.first, self.second), self.norms, strict=True):
            x = torch.relu(norm(layer(x)))
        shift: Tensor = self.last(x) * torch.exp(FASTER * self.log_scale)
        return shift


class FlowStep(nn.Module):
    """ActNorm, then a permutation, then the second half shifted by a network of the first.

    Args:
        width: dimensions.
        shape: of the flow.
    """

    def __init__(self, width: int, shape: FlowShape) -> None:
        super().__init__()
        half = width // 2
        self.norm = ActNorm(width)
        self.shift = Shift(half, width - half, shape.width)
        self.register_buffer("order", torch.arange(width).flip(0), persistent=False)
        self.register_buffer("kept", torch.arange(width) < half, persistent=False)
        self.mixing = nn.Parameter(torch.eye(width)) if shape.permutation == "learned" else None

    @torch.no_grad()
    def initialize(self, x: Tensor) -> None:
        """Start from vectors (n, d)."""
        self.norm.initialize(x)
        self.shift.initialize(self._permutation()(self.norm(x))[:, self.kept])  # type: ignore[index]

    def transform(self) -> Any:
        """Return the step as it is now."""
        zuko = _zuko()
        coupling = zuko.CouplingTransform(
            lambda x: zuko.DependentTransform(zuko.AdditiveTransform(self.shift(x)), 1), self.kept
        )
        return zuko.ComposedTransform(self.norm.transform(), self._permutation(), coupling)

    def _permutation(self) -> Any:
        zuko = _zuko()
        return zuko.PermutationTransform(self.order) if self.mixing is None else zuko.LULinearTransform(self.mixing)


def _zuko() -> Any:
    """Return zuko's transforms, imported where a flow is used, so that nothing else waits for them."""
    from zuko import transforms

    return transforms


class Flow(Module):
    """A map of sentence vectors to a standard Gaussian; the parts that leave at each level come first in its output.

    Args:
        dimension: of the vectors.
        levels, depth, width, permutation: as in `FlowShape`.
    """

    config_keys = ["dimension", "levels", "depth", "width", "permutation"]  # noqa: RUF012

    def __init__(
        self, dimension: int, levels: int = 3, depth: int = 3, width: int = 32, permutation: str = "reverse"
    ) -> None:
        super().__init__()
        shape = FlowShape(levels, depth, width, permutation)
        if dimension < 2**levels:
            raise MirrormaskError(
                f"The 'levels' of a flow halve the dimensions, and vectors of {dimension} cannot be halved so often. "
                f"Got {levels}."
            )
        self.dimension, self.levels, self.depth, self.width, self.permutation = (
            dimension,
            levels,
            depth,
            width,
            permutation,
        )
        self.parts: list[int] = []
        self.blocks = nn.ModuleList()
        left = dimension
        for level in range(levels):
            self.blocks.append(nn.ModuleList([FlowStep(left, shape) for _ in range(depth)]))
            self.parts.append(left - left // 2 if level < levels - 1 else left)
            left //= 2

    @classmethod
    def of(cls, dimension: int, shape: FlowShape) -> Flow:
        """Return a fresh flow of a shape."""
        return cls(dimension, shape.levels, shape.depth, shape.width, shape.permutation)

    @property
    def _steps(self) -> list[list[FlowStep]]:
        return [list(block) for block in self.blocks]  # type: ignore[call-overload]

    @torch.no_grad()
    def initialize(self, vectors: Tensor) -> None:
        """Start every ActNorm from vectors (n, d), as if they had mean 0 and variance 1 before each step."""
        if len(vectors) < 2 or (vectors.std(dim=0) <= 1e-5 * vectors.std(dim=0).max()).any():
            raise DataError(
                f"A flow starts from vectors that differ in every dimension, and these {len(vectors)} do not. Give "
                "more different texts."
            )
        for steps, part in zip(self._steps, self.parts, strict=True):
            for step in steps:
                step.initialize(vectors)
                vectors = step.transform()(vectors)
            vectors = vectors[:, : vectors.shape[1] - part]

    def with_log_determinant(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """Return what vectors (n, d) of the encoder are in the Gaussian's space, and the log-determinants (n,)."""
        leaving, total = [], vectors.new_zeros(len(vectors))
        for steps, part in zip(self._steps, self.parts, strict=True):
            for step in steps:
                vectors, found = step.transform().call_and_ladj(vectors)
                total = total + found
            leaving.append(vectors[:, vectors.shape[1] - part :])
            vectors = vectors[:, : vectors.shape[1] - part]
        return torch.cat(leaving, dim=1), total

    def inverse(self, z: Tensor) -> Tensor:
        """Return the vectors of the encoder's space (n, d) that are these in the Gaussian's."""
        parts = list(torch.split(z, self.parts, dim=1))
        vectors = z[:, :0]
        for steps, part in zip(reversed(self._steps), reversed(parts), strict=True):
            vectors = torch.cat([vectors, part], dim=1)
            for step in reversed(steps):
                vectors = step.transform().inv(vectors)
        return vectors

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Replace `sentence_embedding` (n, d) by what it is in the Gaussian's space, in float32."""
        given: Tensor = features["sentence_embedding"]
        with torch.autocast(given.device.type, enabled=False):
            features["sentence_embedding"] = self.with_log_determinant(given.float())[0]
        return features

    def get_embedding_dimension(self) -> int:
        """Return the width of the sentence vectors."""
        return self.dimension

    def save(self, output_path: str, *args: Any, safe_serialization: bool = True, **kwargs: Any) -> None:
        """Save configuration and weights."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(cls, model_name_or_path: str, **kwargs: Any) -> Flow:
        """Load a saved flow."""
        hub = {key: kwargs[key] for key in _HUB if key in kwargs}
        loaded: Flow = cls.load_torch_weights(
            model_name_or_path, model=cls(**cls.load_config(model_name_or_path, **hub)), **hub
        )
        return loaded


_HUB = ("subfolder", "token", "cache_folder", "revision", "local_files_only")


def bits_per_dimension(z: Tensor, log_determinant: Tensor) -> Tensor:
    """Return how many bits a flow needs per dimension for vectors that it maps to `z` (n, d), their mean.

    Args:
        z: in the Gaussian's space.
        log_determinant: of the map, for each vector (n,).
    """
    gaussian = -0.5 * z.square().sum(dim=1) - 0.5 * z.shape[1] * math.log(2 * math.pi)
    return -(gaussian + log_determinant).mean() / (z.shape[1] * math.log(2))
