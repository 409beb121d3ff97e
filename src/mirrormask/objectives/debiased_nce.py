"""Debiased InfoNCE: what a second model finds too similar is no negative.

Paper: Zhou et al. 2022, "Debiased Contrastive Learning of Unsupervised Sentence Representations" (DCLR), Section 4.2

    loss_i = -log( exp(cos(a_i, p_i) / t) / (exp(cos(a_i, p_i) / t) + sum_(x-) alpha(x-) * exp(cos(a_i, x-) / t)) )
    alpha(p_j) = 0 where the complementary model's cosine of texts i and j is `threshold` or more, else 1

over the other positives of the batch and the extra negatives, which are noise and always count. The complementary
model does not learn. The paper takes a trained SimCSE, and its cosines as they are; by default it is the start itself.
The cosines of a plain BERT are nearly all above any threshold, so that no negative would be left and nothing learned:
the mean of the batch is taken from its vectors first, unless `centered` is off.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, above, between
from mirrormask.core.framing import frame_of
from mirrormask.core.similarity import cosine
from mirrormask.models.bulk import encode_tokens
from mirrormask.models.copies import copy_of
from mirrormask.models.encoder import load
from mirrormask.objectives import Objective, objectives


def debiased_nce(
    anchor: Tensor, positive: Tensor, *, temperature: float, weights: Tensor | None = None, extra: Tensor | None = None
) -> Tensor:
    """Return the mean cross-entropy of finding each anchor's positive among the candidates that count.

    Args:
        anchor: sentence vectors (n, d).
        positive: sentence vectors (n, d); row i belongs to anchor i.
        temperature: what cosines are divided by.
        weights: what positive j counts as a negative of anchor i (n, n), 0 or more; its own always counts 1.
        extra: further negatives (m, d), which count 1.
    """
    n = len(anchor)
    candidates = positive if extra is None else torch.cat([positive, extra])
    scores = cosine(anchor, candidates) / temperature  # (n, n + m)
    if weights is not None:
        own = torch.eye(n, dtype=torch.bool, device=scores.device)
        counted = torch.where(own, 1.0, weights).to(scores.dtype).log()
        scores = scores + F.pad(counted, (0, scores.shape[1] - n))
    return F.cross_entropy(scores, torch.arange(n, device=scores.device))


@objectives.register("debiased-nce")
class DebiasedNCE(Objective):
    """In-batch contrastive loss without the negatives that a second model finds too similar.

    Args:
        temperature: what cosines are divided by.
        threshold: the second model's cosine from which on a text is no negative (0.9 for BERT-base in the paper).
        complement: the second model by name, which must have the same tokens; empty takes a copy of the start.
        centered: whether the mean of the batch is taken from the second model's vectors; the paper's are as they are.

    Relations: `info-nce` leaves out only the very same text. With the source `hardened` it is DCLR.

    Example:
        >>> DebiasedNCE().needs_target
        True
    """

    in_batch = True
    needs_target = True

    def __init__(
        self, temperature: float = 0.05, threshold: float = 0.9, complement: str = "", centered: bool = True
    ) -> None:
        super().__init__()
        self.temperature = above("temperature", temperature, 0, of="debiased-nce")
        self.threshold = between("threshold", threshold, -1, 1, of="debiased-nce")
        self.complement = complement
        self.centered = centered
        self._second: tuple[Any, ...] = ()  # in a tuple, so that it is neither trained nor saved

    def attach(self, encoder: Any) -> None:
        """Load the second model, or copy the encoder as it is before training."""
        second = load(self.complement, device=str(encoder.device)) if self.complement else copy_of(encoder)
        if second.tokenizer.get_vocab() != encoder.tokenizer.get_vocab():
            raise MirrormaskError(
                f"The 'complement' of debiased-nce, {self.complement}, has other tokens than the encoder. Name a model "
                "that was trained from the same start."
            )
        self._second = (second.eval(),)
        frames = [getattr(each[0], "frame", None) or frame_of(each.tokenizer) for each in (encoder, second)]
        self._frames = None if all(map(np.array_equal, *([f.prefix, f.suffix] for f in frames))) else frames

    def target(self, rows: Tokens) -> Tensor:
        """Return the second model's vector of each row (n, k)."""
        if not self._second:
            raise MirrormaskError("The objective debiased-nce asks a second model, and must be attached first.")
        second = self._second[0]
        if self._frames is not None:  # one of the two has a prompt
            ours, theirs = self._frames
            texts = (row[len(ours.prefix) : len(row) - len(ours.suffix)] for row in rows.rows)
            rows = Tokens.of([theirs.around(text, second.max_seq_length or 512) for text in texts])
        return torch.from_numpy(encode_tokens(second, rows)).to(second.device)

    def forward(self, step: Step) -> Tensor:
        """Return the loss of one step; hard negatives count as negatives."""
        weights = None
        if step.targets:
            shared = torch.cat(step.targets).mean(dim=0) if self.centered else 0.0
            similar = cosine(step.targets[0] - shared, step.targets[-1] - shared)
            weights = (similar < self.threshold).to(step.anchor.dtype)
        pools = (None if step.hard is None else step.hard.flatten(0, 1), step.extra)
        more = [pool for pool in pools if pool is not None]
        return debiased_nce(
            step.anchor,
            step.positive,
            temperature=self.temperature,
            weights=weights,
            extra=torch.cat(more) if more else None,
        )
