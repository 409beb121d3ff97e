"""The origin of a masked LM's states, moved to where sentences lie, without a change in any prediction.

The vectors of a masked LM share a large common part, which makes all sentences look alike. Here it is taken out of the
bias of the last layer norm and put back before the LM head: y' = y - m, and W y' + (c + W m) = W y + c.
Paper: Mu and Viswanath 2018, "All-but-the-top: simple and effective postprocessing for word representations" (the
    common mean; their dominant directions stay).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.models.masked_lm import MaskedLM

_ROWS = 512


@torch.inference_mode()
def mean_vector(lm: MaskedLM, texts: Sequence[str], *, length: int) -> Tensor:
    """Return the mean (d,) of the texts' vectors, each the mean of its states, special tokens included.

    Args:
        lm: the model.
        texts: at least one.
        length: most tokens of a text, special tokens included.
    """
    encode, frame = Encoder(lm.tokenizer), frame_of(lm.tokenizer)
    total = torch.zeros(int(lm.model.config.hidden_size), dtype=torch.float64)
    for start in range(0, len(texts), _ROWS):
        ids = (np.frombuffer(row, dtype=encode.dtype) for row in encode(list(texts[start : start + _ROWS])))
        tokens = Tokens.of([frame.around(row, length) for row in ids])
        states = lm.states(tokens, [np.arange(n) for n in tokens.lengths])
        counts = torch.from_numpy(tokens.lengths).to(states.device)
        of = torch.repeat_interleave(torch.arange(len(tokens), device=states.device), counts)
        sums = torch.zeros(len(tokens), states.shape[1], device=states.device).index_add_(0, of, states)
        total += (sums / counts[:, None]).double().sum(0).cpu()
    return (total / len(texts)).float()


@torch.no_grad()
def move_origin(lm: MaskedLM, to: Tensor) -> None:
    """Subtract `to` (d,) from every last-layer state, and let the LM head add it again."""
    norm, dense = last_norm_and_head(lm)
    to = to.to(norm.bias.device, norm.bias.dtype)
    norm.bias.sub_(to)
    dense.bias.add_(dense.weight @ to)


def last_norm_and_head(lm: MaskedLM) -> tuple[nn.LayerNorm, nn.Linear]:
    """Return the layer norm that makes the last states, and the first linear map of the LM head."""
    if lm.model.config.model_type != "bert":
        raise MirrormaskError(
            f"Only a BERT can be centered, and this is a model of type {lm.model.config.model_type!r}. "
            "Leave out --center."
        )
    return lm.model.bert.encoder.layer[-1].output.LayerNorm, lm.model.cls.predictions.transform.dense
