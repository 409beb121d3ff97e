"""BERT-flow: a map of sentence vectors to a standard Gaussian that can be inverted, learned by maximum likelihood.

Paper: Li et al. 2020, "On the Sentence Embeddings from Pre-trained Language Models" (BERT-flow)
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.core.errors import above, at_least
from mirrormask.core.seeding import Seeds, derive
from mirrormask.isotropy import transforms
from mirrormask.isotropy.moments import Moments
from mirrormask.models.glow import Flow, FlowShape, bits_per_dimension
from mirrormask.models.transform import Transform, not_fitted
from mirrormask.training.loop import fit
from mirrormask.training.settings import Settings

START = 1024
"""Vectors that the flow starts from; BERT-flow takes its first batch."""


@transforms.register("flow")
class BertFlow(Transform):
    """Map vectors to a standard Gaussian by an invertible network.

    Args:
        levels: after each but the last, half of the dimensions leave (the paper's code: 3).
        depth: steps of a level (3).
        width: of the couplings' hidden layers (32).
        permutation: `reverse` as published, or `learned`, Glow's 1x1 convolution.
        epochs: passes over the vectors (1).
        batch_size: vectors of an update (32 pairs).
        learning_rate: constant (1e-3; the paper's code has Adam without bias correction, this has AdamW).
        seed: of order and weights.

    Relations: `whitening` is the linear map of the same aim; `bert-cf-flow` trains the same network on an encoder
        under dropout.

    Example:
        >>> rows = torch.randn(512, 8, generator=torch.Generator().manual_seed(0)).exp()
        >>> BertFlow(levels=2).fit(rows.split(100)).transform(rows).shape
        torch.Size([512, 8])
    """

    name = "flow"

    def __init__(
        self,
        levels: int = 3,
        depth: int = 3,
        width: int = 32,
        permutation: str = "reverse",
        epochs: float = 1.0,
        batch_size: int = 64,
        learning_rate: float = 1e-3,
        seed: int = 0,
    ) -> None:
        FlowShape(levels, depth, width, permutation)
        self.levels, self.depth, self.width, self.permutation = levels, depth, width, permutation
        self.epochs = above("epochs", epochs, 0, of="flow")
        self.batch_size = at_least("batch_size", batch_size, 2, of="flow")
        self.learning_rate = above("learning_rate", learning_rate, 0, of="flow")
        self.seed = seed
        self.flow: Flow | None = None

    def fit(self, batches: Iterable[Tensor]) -> Self:
        """Learn the flow from vectors, all of which are held: it sees them in random order."""
        held: list[Tensor] = []

        def kept() -> Iterator[Tensor]:
            for batch in batches:
                held.append(batch.detach().cpu().float())
                yield held[-1]

        Moments(kept(), of=self.name).enough().varied()
        vectors = torch.cat(held)
        device = "cuda" if torch.cuda.is_available() else "cpu"
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(derive(self.seed, "flow"))
            flow = Flow(vectors.shape[1], self.levels, self.depth, self.width, self.permutation)
        order = np.random.default_rng(derive(self.seed, "flow start")).permutation(len(vectors))
        flow.initialize(vectors[order[:START]])
        settings = Settings(
            batch_size=min(self.batch_size, len(vectors)),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=0.01,
            schedule="constant",
            precision="fp32",
            compile="off",
            seeds=Seeds.all(self.seed),
        )
        with tempfile.TemporaryDirectory() as folder:
            rows = _Rows(vectors.to(device), settings.batch_size, self.seed)
            fit(_Likelihood(flow.to(device)), rows, settings, Path(folder))
        self.flow = flow.cpu().eval()
        return self

    @torch.no_grad()
    def transform(self, vectors: Tensor) -> Tensor:
        """Return the vectors in the Gaussian's space (n, d)."""
        return self._fitted().to(vectors.device).with_log_determinant(vectors.float())[0]

    @torch.no_grad()
    def bits_per_dimension(self, vectors: Tensor) -> float:
        """Return how many bits the flow needs per dimension for these vectors; fewer where they are as it expects."""
        return float(bits_per_dimension(*self._fitted().to(vectors.device).with_log_determinant(vectors.float())))

    def module(self) -> nn.Module:
        """Return the flow; a model with it opens through `mirrormask.load`."""
        return self._fitted()

    def _fitted(self) -> Flow:
        if self.flow is None:
            raise not_fitted()
        return self.flow


class _Likelihood(nn.Module):
    """The flow as what the loop trains."""

    def __init__(self, flow: Flow) -> None:
        super().__init__()
        self.flow = flow

    def forward(self, batch: Tensor, seed: int = 0) -> Tensor:
        return bits_per_dimension(*self.flow.with_log_determinant(batch))


class _Rows:
    """Batches of vectors in an order that differs from epoch to epoch."""

    def __init__(self, vectors: Tensor, size: int, seed: int) -> None:
        self.vectors, self.size, self.seed = vectors, size, seed

    def __len__(self) -> int:
        return max(1, len(self.vectors) // self.size)

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Tensor]:
        for number in range(start, stop):
            epoch, place = divmod(number, len(self))
            if number == start or not place:
                rng = np.random.default_rng(derive(self.seed, "flow", epoch))
                order = torch.from_numpy(rng.permutation(len(self.vectors))).to(self.vectors.device)
            yield self.vectors[order[place * self.size : (place + 1) * self.size]]
