"""What a chosen token is hidden behind: a mask most of the time, now and then a random token, or nothing.

Paper: Devlin et al. 2019, "BERT", Section 3.1: of the chosen tokens 80 % become [MASK], 10 % a random token, and 10 %
stay, because a model that is used later meets no masks.
"""

from __future__ import annotations

import torch
from torch import Tensor

MASKED, REPLACED = 0.8, 0.1
"""Shares of the chosen tokens that become the mask, and a random token."""


def hide(ids: Tensor, chosen: Tensor, *, mask_id: int, ordinary: Tensor, chance: torch.Generator) -> Tensor:
    """Return the ids with the chosen ones hidden.

    Args:
        ids: token ids, any shape.
        chosen: which of them to hide, of the same shape.
        mask_id: the mask token.
        ordinary: the ids a random token is drawn from; no special ones.
        chance: where the choices come from.
    """
    fate = torch.rand(ids.shape, generator=chance, device=ids.device)
    other = ordinary[torch.randint(len(ordinary), ids.shape, generator=chance, device=ids.device)]
    hidden = torch.where(fate < MASKED, mask_id, torch.where(fate < MASKED + REPLACED, other, ids))
    return torch.where(chosen, hidden, ids)
