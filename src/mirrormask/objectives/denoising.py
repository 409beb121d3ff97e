"""Denoising: a text is written again from the vector of what was left of it.

Paper: Wang et al. 2021, "TSDAE: Using Transformer-based Sequential Denoising Auto-Encoder for Unsupervised Sentence
    Embedding Learning", Section 3, Eq. 1

    loss = mean over tokens t of -log p(x_t | x_<t, z),  z = f(what the noise left of x)

The decoder has the encoder's weights and attends to the one vector z alone, so all that it is told goes through it. The
head is a copy of the masked LM's, its output matrix the embeddings, and is saved with the encoder.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mirrormask.core.batch import Batch, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.shards import length_shards
from mirrormask.core.transfer import at_least_float32, to_device
from mirrormask.models.lm_head import head_weights
from mirrormask.models.masked_lm import MaskedLM, head_alone
from mirrormask.models.tied_decoder import TiedDecoder
from mirrormask.objectives import Ask, Objective, Seen, objectives

_TOKENS = 16_384  # of rows of similar length that are decoded at a time


@objectives.register("denoising")
class Denoising(Objective):
    """Write each anchor's text again from the vector of what its view left of it.

    Relations: the noise is the anchor's view: `word-deletion` with rate 0.6 is TSDAE's. It compares no vectors and runs
        no view but the anchor's. Equal to sentence-transformers' `DenoisingAutoEncoderLoss` with a tied decoder.

    Example:
        >>> Denoising().reads_views
        True
    """

    needs_encoder = True
    reads_views = True

    def __init__(self) -> None:
        super().__init__()
        self.decoder: TiedDecoder | None = None
        self.lm: MaskedLM | None = None
        self._tied = False

    def attach(self, encoder: Any) -> None:
        """Make the decoder, and copy the LM head of the model that the encoder starts from."""
        self.lm, self._tied = head_alone(encoder, of="denoising")
        self.decoder = TiedDecoder(encoder)
        self._pad = encoder.tokenizer.pad_token_id or 0

    def show(self, batch: Batch) -> dict[int, Ask]:
        """Return the anchors as they are; their view takes words out of them."""
        nowhere = (np.zeros(0, dtype=np.int64),) * len(batch)
        return {0: Ask(batch.columns[0], nowhere, torch.zeros(0))}

    def saw(self, shown: dict[int, Ask], seen: dict[int, Seen]) -> Tensor:
        """Return the mean loss over all tokens of the texts, special ones but the first included."""
        if self.decoder is None:
            raise MirrormaskError("The objective denoising must be attached to an encoder before training.")
        rows = shown[0].rows
        losses = [self._sum(rows, shard, seen[0].vectors) for shard in length_shards(rows.lengths, _TOKENS)]
        return torch.stack(losses).sum() / int((rows.lengths - 1).sum())

    def lm_head(self) -> dict[str, Tensor] | None:
        """Return the weights of the trained head."""
        return None if self.lm is None else head_weights(self.lm.model, without_tied=self._tied)

    def _sum(self, rows: Tokens, shard: Any, vectors: Tensor) -> Tensor:
        assert self.decoder is not None
        assert self.lm is not None
        ids, mask = (to_device(t, vectors.device) for t in rows.padded(self._pad, shard))
        own = vectors[to_device(torch.from_numpy(shard), vectors.device)]
        there = mask[:, 1:].bool()
        states = self.decoder(ids[:, :-1], own)[there]
        return F.cross_entropy(at_least_float32(self.lm.head(states)), ids[:, 1:][there], reduction="sum")
