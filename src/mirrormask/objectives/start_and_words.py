"""A query ranks documents as the encoder did before training and the words of the text do, both together.

Paper: Hinton et al. 2015, "Distilling the Knowledge in a Neural Network" (learning a teacher's distribution), and
    Robertson and Zaragoza 2009, "The Probabilistic Relevance Framework: BM25 and Beyond" (half of the teacher),
    composed here

With z(.) a score standardized over the documents j of the batch, and s_i the deviation of the start's cosines,

    t_ij = z(cos of the start) + weight * z(BM25)
    loss = mean_i KL( softmax_j(sharpness * t_ij) || softmax_j(sharpness * cos(q_i, d_j) / s_i) )

so that with a weight of 0 the start itself has nothing left to learn. Words and vectors together find more than either,
and what the words say against the start is all that is taught.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, above, at_least
from mirrormask.core.spread import spread_evenly
from mirrormask.data.text.tokens import Tokenized
from mirrormask.models.bulk import encode_tokens
from mirrormask.models.copies import copy_of
from mirrormask.objectives import Objective, objectives

K1, B = 0.9, 0.4
"""BM25's constants, as in Anserini."""

_COUNTED = 20_000  # texts that words are counted in


def bm25(asked: Tensor, counts: Tensor, idf: Tensor, mean_length: float) -> Tensor:
    """Return the scores (n, m) of documents for queries.

    Args:
        asked: how often each query has each token (n, v).
        counts: how often each document has it (m, v).
        idf: what it tells (v,).
        mean_length: of a document.
    """
    lengths = counts.sum(dim=1, keepdim=True)
    weights = counts * (K1 + 1) / (counts + K1 * (1 - B + B * lengths / mean_length))
    return asked @ (weights * idf).T


def standardized(scores: Tensor) -> Tensor:
    """Return the scores (n, m) of each row with mean 0 and deviation 1; a row of equal scores is 0."""
    centred = scores - scores.mean(dim=1, keepdim=True)
    return centred / centred.square().mean(dim=1, keepdim=True).sqrt().clamp(min=1e-6)


@objectives.register("start-and-words")
class StartAndWords(Objective):
    """Rank documents as the start and BM25 do together.

    Args:
        weight: of BM25 beside the start.
        sharpness: of both distributions, in deviations of the start's cosines.

    Relations: it reads the text once before training, and keeps a copy of the start.

    Example:
        >>> StartAndWords().needs_target
        True
    """

    columns = 2
    in_batch = True
    needs_target = True

    idf: Tensor

    def __init__(self, weight: float = 0.2, sharpness: float = 2.0) -> None:
        super().__init__()
        self.weight = at_least("weight", weight, 0, of="start-and-words")
        self.sharpness = above("sharpness", sharpness, 0, of="start-and-words")
        self.mean_length = 1.0
        self._start: tuple[Any, ...] = ()  # in a tuple, so that it is neither trained nor saved
        self.register_buffer("idf", torch.zeros(0))

    def attach(self, encoder: Any) -> None:
        """Copy the encoder as it is before training."""
        self._start = (copy_of(encoder).eval(),)

    def read(self, tokens: Tokenized, device: torch.device | str = "cpu") -> None:
        """Count in how many texts each token occurs."""
        rows = spread_evenly(len(tokens), _COUNTED)
        texts, length = np.zeros(len(tokens.starts), dtype=np.int64), 0
        for block in np.array_split(rows, max(1, len(rows) // 2_000)):
            for ids in tokens.take(block.tolist()):
                texts[np.unique(ids)] += 1
                length += len(ids)
        self.mean_length = max(1.0, length / max(1, len(rows)))
        idf = np.log(1 + (len(rows) - texts + 0.5) / (texts + 0.5))
        self.idf = torch.from_numpy(np.where(texts > 0, idf, 0).astype(np.float32)).to(device)

    def target(self, rows: Tokens) -> Tensor:
        """Return the start's vector of each row, and beside it how often it has each token (n, d + v)."""
        if not self._start or not len(self.idf):
            raise MirrormaskError("The objective start-and-words must read the text and the start before training.")
        vectors = torch.from_numpy(encode_tokens(self._start[0], rows)).to(self.idf.device)
        ids = torch.from_numpy(np.concatenate(rows.rows).astype(np.int64)).to(vectors.device)
        owner = torch.from_numpy(np.repeat(np.arange(len(rows)), rows.lengths)).to(vectors.device)
        counts = torch.zeros(len(rows), len(self.idf), device=vectors.device)
        counts.index_put_((owner, ids), torch.ones(len(ids), device=vectors.device), accumulate=True)
        return torch.cat([vectors, counts], dim=1)

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard and extra negatives have no part in it."""
        if len(step.targets) != 2:
            raise MirrormaskError(
                "The objective start-and-words needs queries with documents, and the pairing gives one column. Take "
                "another pairing, such as lookups."
            )
        size = step.anchor.shape[1]
        (asked, words), (there, counts) = ((t[:, :size], t[:, size:]) for t in step.targets)
        cosines = F.normalize(asked, dim=-1) @ F.normalize(there, dim=-1).T
        spread = cosines.std(dim=1, correction=0, keepdim=True).clamp(min=1e-6)
        taught = standardized(cosines) + self.weight * standardized(bm25(words, counts, self.idf, self.mean_length))
        now = F.normalize(step.anchor, dim=-1) @ F.normalize(step.positive, dim=-1).T / spread
        log_now, log_taught = (F.log_softmax(self.sharpness * scores, dim=1) for scores in (now, taught))
        return F.kl_div(log_now, log_taught.to(log_now.dtype), log_target=True, reduction="batchmean")
