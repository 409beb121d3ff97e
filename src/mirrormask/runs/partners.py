"""A small check before and after training: does a text find its own partner among all that were set aside?"""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.functional import normalize

from mirrormask.data.batching import Batches
from mirrormask.models.precision import best_precision
from mirrormask.training.forward import encode


@torch.no_grad()
def partners_found(encoder: Any, batches: Batches | None) -> float | None:
    """Return the share of texts whose own partner is the nearest of all partners in its batch.

    Args:
        encoder: as it is now; measured without dropout.
        batches: of pairs that training does not see.

    Returns:
        None where there are no such pairs, or a text is paired with itself.
    """
    if batches is None or len(batches.at(0).columns) < 2:
        return None
    was_training, device = encoder.training, encoder.device
    encoder.eval()
    found, rows = 0, 0
    pad = encoder.tokenizer.pad_token_id or 0
    for number in range(len(batches)):
        with best_precision(device).autocast(device):
            both = [encode(encoder, column, pad_id=pad, eager=True) for column in batches.at(number).columns[:2]]
        texts, partners = (normalize(vectors.float(), dim=-1) for vectors in both)
        nearest = (texts @ partners.T).argmax(dim=1)
        found += int((nearest == torch.arange(len(texts), device=nearest.device)).sum())
        rows += len(texts)
    encoder.train(was_training)
    return found / rows
