"""The masked-LM auxiliary: the encoder goes on guessing masked words while it learns sentences.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings" (the auxiliary objective); masks
    as in Devlin et al. 2019, "BERT", Section 3.1

    loss = mean over masked positions t of -log p_LM(x_t | masked x)

A position is chosen with chance `rate`, and hidden as `models.masking` says. All sentences of the batch are masked in a
forward of their own. The head is a copy of the model's own and is trained, its output matrix not tied to the input
embeddings, as in the published code; it runs at the masked positions alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, above
from mirrormask.core.framing import frame_of
from mirrormask.core.transfer import to_device
from mirrormask.models.masked_lm import MaskedLM as Reader
from mirrormask.models.masking import hide
from mirrormask.objectives import Objective, objectives

WIDTHS = 16  # rows are padded to a multiple of this, so that compiled code sees few shapes


@objectives.register("masked-lm")
class MaskedLMLoss(Objective):
    """Guess masked tokens of the batch's sentences.

    Args:
        rate: chance of a token to be chosen (the published code takes 15 %).

    Relations: SimCSE adds it to `info-nce` with a weight of 0.1. It runs the encoder once more.

    Example:
        >>> MaskedLMLoss().needs_encoder
        True
    """

    needs_encoder = True

    def __init__(self, rate: float = 0.15) -> None:
        super().__init__()
        self.rate = above("rate", rate, 0, of="masked-lm")
        if rate >= 1:
            raise MirrormaskError(f"The 'rate' of masked-lm must be below 1. Got {rate!r}.")
        self.lm: Reader | None = None

    def attach(self, encoder: Any) -> None:
        """Copy the LM head of the model that the encoder starts from."""
        source = getattr(encoder, "mirrormask_source", None)
        if source is None:
            raise MirrormaskError("The objective masked-lm needs an encoder built from a masked language model.")
        self.lm = Reader.load(source, device=str(next(encoder.parameters()).device))
        model = self.lm.model
        model._modules[model.base_model_prefix] = nn.Identity()  # only the head is ours; the encoder is the trained one
        self._encoder = (encoder,)  # in a tuple, so that its weights are not registered twice
        tokenizer = encoder.tokenizer
        self._frame = getattr(encoder[0], "frame", None) or frame_of(tokenizer)
        special = set(tokenizer.all_special_ids)
        self._ordinary = torch.tensor([i for i in range(len(tokenizer)) if i not in special])

    def forward(self, step: Step) -> Tensor:
        """Return the masked-LM loss over all columns of this process's batch."""
        if self.lm is None:
            raise MirrormaskError("The objective masked-lm reads tokens, and must be attached to an encoder first.")
        encoder = self._encoder[0]
        device = step.anchor.device
        rows: Tokens = sum(step.batch.columns[1:], step.batch.columns[0])
        pad, limit = encoder.tokenizer.pad_token_id or 0, encoder.max_seq_length
        ids, mask = rows.padded(pad, range(len(rows)), multiple_of=WIDTHS, at_most=limit)
        place, length = np.arange(ids.shape[1]), rows.lengths[:, None]
        text = torch.from_numpy((place >= len(self._frame.prefix)) & (place < length - len(self._frame.suffix)))
        chance = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
        chosen = text & (torch.rand(ids.shape, generator=chance) < self.rate)
        mask_id = encoder.tokenizer.mask_token_id
        shown = hide(ids, chosen, mask_id=mask_id, ordinary=self._ordinary, chance=chance)
        run = encoder[0].model(input_ids=to_device(shown, device), attention_mask=to_device(mask, device))
        scores = self.lm.head(run.last_hidden_state[to_device(chosen, device)])
        return F.cross_entropy(scores.float(), to_device(ids[chosen], device), reduction="sum") / max(
            1, int(chosen.sum())
        )
