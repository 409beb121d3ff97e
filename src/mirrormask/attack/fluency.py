"""How strange a text is to a masked LM: the perplexity of its tokens, each hidden once.

Paper: Salazar et al. 2020, "Masked Language Model Scoring", with every seventh token hidden at a time
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch

from mirrormask.core.batch import Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.framing import frame_of
from mirrormask.models.masked_lm import MaskedLM

APART = 7
"""Tokens from one that is hidden to the next in the same row."""

_ROWS = 512  # texts whose scores are held at once, each with APART rows
_LONGEST = 256


@torch.inference_mode()
def perplexities(lm: MaskedLM, texts: Sequence[str]) -> list[float]:
    """Return the perplexity of each text, infinite for one without tokens.

    Args:
        lm: the masked LM.
        texts: at most 256 tokens of each are read.
    """
    encode, frame = Encoder(lm.tokenizer, enough=1000), frame_of(lm.tokenizer)
    longest = int(getattr(lm.model.config, "max_position_embeddings", _LONGEST) or _LONGEST)
    limit = min(_LONGEST, longest, lm.tokenizer.model_max_length)
    found: list[float] = []
    for start in range(0, len(texts), _ROWS // APART):
        part = encode(list(texts[start : start + _ROWS // APART]))
        bare = [np.frombuffer(row, dtype=encode.dtype).astype(np.int64) for row in part]
        rows, places, wanted, owners = [], [], [], []
        for owner, ids in enumerate(bare):
            whole = frame.around(ids, limit)
            inside = np.arange(len(frame.prefix), len(whole) - len(frame.suffix))
            for first in range(min(APART, len(inside))):
                hidden = inside[first::APART]
                row = whole.copy()
                row[hidden] = lm.tokenizer.mask_token_id
                rows.append(row)
                places.append(hidden)
                wanted.append(whole[hidden])
                owners += [owner] * len(hidden)
        if not rows:
            found += [math.inf] * len(bare)
            continue
        scores = lm.logits(Tokens.of(rows), places).log_softmax(-1)
        target = torch.from_numpy(np.concatenate(wanted)).to(scores.device)
        losses = -scores.gather(1, target[:, None])[:, 0].double().cpu().numpy()
        counts = np.bincount(owners, minlength=len(bare))
        sums = np.bincount(owners, weights=losses, minlength=len(bare))
        found += [math.exp(min(s / c, 50.0)) if c else math.inf for s, c in zip(sums, counts, strict=True)]
    return found
