"""Two sentences are as near as their words are in the statistics of the text: a teacher that needs no model.

Paper: Arora et al. 2017, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings" (the teacher), and Liu et al.
    2023, "RankCSE" (learning a teacher's ranking), composed here

A sentence's target is the mean of its tokens' co-occurrence vectors v_w, the frequent ones weighted down, without the
directions that most sentences share:

    t = (I - U U') (sum_w a/(a + p_w) v_w / sum_w a/(a + p_w) - mu),   U, mu fitted on sentences of the text

and the loss asks that each vector z_i of the batch, anchors and positives, ranks the others as its target does:

    loss = mean_i KL( softmax_j(cos(t_i, t_j) / tau) || softmax_j(cos(z_i, z_j) / tau) ),  j != i
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Ids, Step, Tokens
from mirrormask.core.errors import MirrormaskError, above, at_least
from mirrormask.core.spread import spread_evenly
from mirrormask.core.transfer import to_device
from mirrormask.data.text.cooccurrence import cooccurrence_vectors
from mirrormask.data.text.tokens import Tokenized
from mirrormask.objectives import Objective, objectives

_FITTED, _LONGEST = 20_000, 64  # sentences that common directions are fitted on, and how many of their tokens
_BLOCK = 10_000  # texts read at once


def ranking_loss(vectors: Tensor, targets: Tensor, *, temperature: float) -> Tensor:
    """Return the mean divergence of how vectors rank each other from how their targets do.

    Args:
        vectors: sentence vectors (m, d).
        targets: what to agree with (m, k), row i belonging to vector i.
        temperature: of both softmaxes.
    """
    own = torch.eye(len(vectors), dtype=torch.bool, device=vectors.device)

    def ranking(x: Tensor) -> Tensor:
        x = F.normalize(x, dim=-1)
        return F.log_softmax((x @ x.T / temperature).masked_fill(own, -1e9), dim=1)

    return F.kl_div(ranking(vectors), ranking(targets.to(vectors.dtype)), log_target=True, reduction="batchmean")


class _Texts(Sequence[Ids]):
    """The texts of some rows that have tokens, their ids in one array: a million small ones take several times that."""

    def __init__(self, tokens: Tokenized, rows: list[int]) -> None:
        lengths: list[int] = []
        ids: list[Ids] = [np.zeros(0, dtype=np.uint16)]
        for start in range(0, len(rows), _BLOCK):
            taken = [each for each in tokens.take(rows[start : start + _BLOCK]) if len(each)]
            lengths.extend(len(each) for each in taken)
            ids.append(np.concatenate([ids[0], *taken]))
        self._ids, self._edges = np.concatenate(ids), np.cumsum([0, *lengths])

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, place: Any) -> Any:
        place = range(len(self))[place]
        return self._ids[self._edges[place] : self._edges[place + 1]]


@objectives.register("word-statistics")
class WordStatistics(Objective):
    """Rank sentences as the co-occurrence statistics of their words do.

    Args:
        temperature: of both rankings; of 0.05, 0.1 and 0.2 the default is best on STS-B dev.
        dimensions: of the words' vectors.
        window: tokens at most this far apart count as neighbours.
        rarity: the `a` of a word's weight a / (a + p), p its share of all tokens.
        common: directions left out, those that vary most from sentence to sentence.
        texts: rows of the corpus that words are counted on, at most, spread evenly.

    Relations: it reads the text once before training. Added to `info-nce` it gives a small model what dropout alone
    does not: which words matter and which are alike.

    Example:
        >>> WordStatistics().needs_target
        True
    """

    in_batch = True
    needs_target = True

    words: Tensor
    weights: Tensor
    mean: Tensor
    shared: Tensor

    def __init__(
        self,
        temperature: float = 0.1,
        dimensions: int = 384,
        window: int = 5,
        rarity: float = 5e-4,
        common: int = 2,
        texts: int = 1_000_000,
    ) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="word-statistics")
        self.dimensions = at_least("dimensions", dimensions, 1, of="word-statistics")
        self.window = at_least("window", window, 1, of="word-statistics")
        self.rarity = above("rarity", rarity, 0, of="word-statistics")
        self.common = at_least("common", common, 0, of="word-statistics")
        self.texts = at_least("texts", texts, 1, of="word-statistics")
        for name in ("words", "weights", "mean", "shared"):
            self.register_buffer(name, torch.zeros(0))

    def read(self, tokens: Tokenized, device: torch.device | str = "cpu") -> None:
        """Count the words of a text, and find what its sentences have in common."""
        texts = _Texts(tokens, spread_evenly(len(tokens), self.texts).tolist())
        if not texts:
            raise MirrormaskError("The objective word-statistics needs text to read, and there is none.")
        vocabulary = len(tokens.starts)
        vectors, frequency = cooccurrence_vectors(
            texts, vocabulary, dimensions=self.dimensions, window=self.window, device=device
        )
        weights = self.rarity / (self.rarity + frequency / max(1, frequency.sum()))
        self.words = torch.from_numpy(vectors)
        self.weights = torch.from_numpy(np.where(vectors.any(axis=1), weights, 0).astype(np.float32))
        self.mean, self.shared = torch.zeros(self.dimensions), torch.zeros(self.dimensions, 0)
        some = [texts[row][:_LONGEST] for row in spread_evenly(len(texts), _FITTED)]
        sentences = torch.cat([self.target(Tokens.of(some[at : at + 1000])) for at in range(0, len(some), 1000)])
        self.mean = sentences.mean(dim=0)
        centred = (sentences - self.mean).double()
        directions = torch.linalg.eigh(centred.T @ centred)[1].flip(1)[:, : self.common]
        self.shared = directions.to(self.words.dtype)

    def target(self, rows: Tokens) -> Tensor:
        """Return what each row's vector shall agree with (n, dimensions); tokens without a vector count nothing."""
        if not len(self.words):
            raise MirrormaskError("The objective word-statistics must read the text before training.")
        ids, mask = rows.padded(0, range(len(rows)))
        device = self.words.device
        ids, mask = to_device(ids, device), to_device(mask, device)
        weights = self.weights[ids] * mask
        total = (weights[:, :, None] * self.words[ids]).sum(dim=1)
        mean = total / weights.sum(dim=1, keepdim=True).clamp(min=1e-9) - self.mean
        return mean - mean @ self.shared @ self.shared.T

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        if not step.targets:
            raise MirrormaskError("The objective word-statistics needs the targets of the step's sentences.")
        both = (step.targets * 2)[:2]  # one column is seen twice
        return ranking_loss(torch.cat([step.anchor, step.positive]), torch.cat(both), temperature=self.temperature)
