"""The masked-LM auxiliary: the encoder goes on guessing masked words while it learns sentences.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings" (the auxiliary objective); masks
    as in Devlin et al. 2019, "BERT", Section 3.1

    loss = mean over masked positions t of -log p_LM(x_t | masked x)

A position is chosen with chance `rate`, and hidden as `models.hiding` says. All sentences of the batch are masked in a
forward of their own; `shared` hides words of the anchors that are contrasted, so that one forward does both, as in
Giorgi et al. 2021, "DeCLUTR", Section 3.3. The head is a copy of the model's own and is trained; it runs at the masked
positions alone, and is saved with the encoder. Where the model's output matrix is its input embeddings, it stays so:
the matrix is the trained encoder's. The published code copies it and lets the two part, which `faithful` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.errors import MirrormaskError, above
from mirrormask.core.framing import frame_of
from mirrormask.core.transfer import at_least_float32, to_device
from mirrormask.models.hiding import hide
from mirrormask.models.lm_head import head_weights
from mirrormask.models.masked_lm import MaskedLM as Reader
from mirrormask.models.masked_lm import head_alone
from mirrormask.objectives import Ask, Objective, Seen, objectives

_BLOCK = 4096  # hidden tokens whose scores of the whole vocabulary are held at a time


@objectives.register("masked-lm")
class MaskedLMLoss(Objective):
    """Guess masked tokens of the batch's sentences.

    Args:
        rate: chance of a token to be chosen (the published code takes 15 %).
        faithful: train an output matrix of its own, as the published code does, where the model's is its embeddings.
        shared: hide words of the anchors themselves and guess them in the same forward.

    Relations: SimCSE adds it to `info-nce` with a weight of 0.1. It runs the encoder once more, unless it is `shared`.

    Example:
        >>> MaskedLMLoss().needs_encoder
        True
    """

    needs_encoder = True

    def __init__(self, rate: float = 0.15, faithful: bool = False, shared: bool = False) -> None:
        super().__init__()
        self.rate = above("rate", rate, 0, of="masked-lm")
        if rate >= 1:
            raise MirrormaskError(f"The 'rate' of masked-lm must be below 1. Got {rate!r}.")
        self.faithful = faithful
        self.shared = self.reads_views = shared
        self.lm: Reader | None = None
        self._tied = False

    def attach(self, encoder: Any) -> None:
        """Copy the LM head of the model that the encoder starts from."""
        self.lm, self._tied = head_alone(encoder, of="masked-lm", own_matrix=self.faithful)
        tokenizer = encoder.tokenizer
        self._frame = getattr(encoder[0], "frame", None) or frame_of(tokenizer)
        special = set(tokenizer.all_special_ids)
        self._ordinary = torch.tensor([i for i in range(len(tokenizer)) if i not in special])

    def ask(self, batch: Batch) -> Ask:
        """Return all columns of this process's rows with some tokens hidden, and where."""
        return self._hidden(sum(batch.columns[1:], batch.columns[0]))

    def show(self, batch: Batch) -> dict[int, Ask]:
        """Return the anchors with some tokens hidden, and where."""
        return {0: self._hidden(batch.columns[0])}

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        """Return the mean loss over the hidden tokens of the anchors."""
        return self.answered(shown[0], seen[0].states)

    def _hidden(self, rows: Tokens) -> Ask:
        if self.lm is None:
            raise MirrormaskError("The objective masked-lm reads tokens, and must be attached to an encoder first.")
        ids = torch.from_numpy(np.concatenate(rows.rows).astype(np.int64))
        lengths = rows.lengths
        place = np.concatenate([np.arange(length) for length in lengths])
        end = np.repeat(lengths - len(self._frame.suffix), lengths)
        text = torch.from_numpy((place >= len(self._frame.prefix)) & (place < end))
        chance = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        chosen = text & (torch.rand(ids.shape, generator=chance) < self.rate)
        shown = hide(ids, chosen, mask_id=self.lm.tokenizer.mask_token_id, ordinary=self._ordinary, chance=chance)
        edges = np.cumsum(lengths)[:-1]
        positions = tuple(np.flatnonzero(each) for each in np.split(chosen.numpy(), edges))
        return Ask(Tokens.of(np.split(shown.numpy(), edges)), positions, ids[chosen])

    def answered(self, ask: Ask, states: Tensor) -> Tensor:
        """Return the mean loss over the hidden tokens; of many, the scores of only so many are held at a time."""
        answers = to_device(ask.answers, states.device)
        parts = list(zip(states.split(_BLOCK), answers.split(_BLOCK), strict=True))
        if len(parts) > 1 and torch.is_grad_enabled():
            losses = [checkpoint(self._sum, *part, use_reentrant=False) for part in parts]
        else:
            losses = [self._sum(*part) for part in parts]
        total: Tensor = torch.stack(losses).sum()
        return total / max(1, len(answers))

    def lm_head(self) -> dict[str, Tensor] | None:
        """Return the weights of the trained head."""
        return None if self.lm is None else head_weights(self.lm.model, without_tied=self._tied)

    def _sum(self, states: Tensor, answers: Tensor) -> Tensor:
        assert self.lm is not None
        return F.cross_entropy(at_least_float32(self.lm.head(states)), answers, reduction="sum")
