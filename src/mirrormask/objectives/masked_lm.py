"""The masked-LM auxiliary: the encoder goes on guessing masked words while it learns sentences.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings" (the auxiliary objective); masks
    as in Devlin et al. 2019, "BERT", Section 3.1

    loss = mean over masked positions t of -log p_LM(x_t | masked x)

A position is chosen with chance `rate`; of the chosen, 80 % become the mask, 10 % a random token, 10 % stay. All
sentences of the batch are masked in a forward of their own. The head is a copy of the model's own and is trained, its
output matrix not tied to the input embeddings, as in the published code; it runs at the masked positions alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from mirrormask.core.batch import Step, Tokens
from mirrormask.core.errors import MirrormaskError, above
from mirrormask.core.framing import frame_of
from mirrormask.models.masked_lm import MaskedLM as Reader
from mirrormask.objectives import Objective, objectives

MASKED, RANDOM = 0.8, 0.1  # of the chosen positions
WIDTHS = 16  # rows are padded to a multiple of this, so that compiled code sees few shapes


def mask_tokens(
    ids: NDArray[np.int64],
    maskable: NDArray[np.bool_],
    *,
    rate: float,
    mask_id: int,
    vocabulary: NDArray[np.int64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return ids as the encoder sees them, and which positions are to be guessed.

    Args:
        ids: token ids, any shape.
        maskable: where a token of the text stands.
        rate: chance of such a position to be chosen.
        mask_id: the mask token.
        vocabulary: tokens a random one is drawn from.
        rng: where the choices come from.
    """
    chosen = maskable & (rng.random(ids.shape) < rate)
    kind = rng.random(ids.shape)
    seen = np.where(chosen & (kind < MASKED), mask_id, ids)
    other = rng.choice(vocabulary, size=ids.shape)
    return np.where(chosen & (kind >= MASKED) & (kind < MASKED + RANDOM), other, seen), chosen


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
        self._vocabulary = np.array([i for i in range(len(tokenizer)) if i not in special], dtype=np.int64)

    def forward(self, step: Step) -> Tensor:
        """Return the masked-LM loss over all columns of this process's batch."""
        if self.lm is None:
            raise MirrormaskError("The objective masked-lm reads tokens, and must be attached to an encoder first.")
        encoder = self._encoder[0]
        device = step.anchor.device
        rows: Tokens = sum(step.batch.columns[1:], step.batch.columns[0])
        pad, limit = encoder.tokenizer.pad_token_id or 0, encoder.max_seq_length
        ids, mask = rows.padded(pad, range(len(rows)), multiple_of=WIDTHS, at_most=limit)
        rng = np.random.default_rng(int(torch.randint(2**62, ())))
        place, length = np.arange(ids.shape[1]), rows.lengths[:, None]
        text = (place >= len(self._frame.prefix)) & (place < length - len(self._frame.suffix))
        shown, chosen = mask_tokens(
            ids.numpy(),
            text,
            rate=self.rate,
            mask_id=encoder.tokenizer.mask_token_id,
            vocabulary=self._vocabulary,
            rng=rng,
        )
        at = torch.from_numpy(chosen)
        run = encoder[0].model(input_ids=torch.from_numpy(shown).to(device), attention_mask=mask.to(device))
        scores = self.lm.head(run.last_hidden_state[at.to(device)])
        return F.cross_entropy(scores.float(), ids[at].to(device), reduction="sum") / max(1, int(chosen.sum()))
