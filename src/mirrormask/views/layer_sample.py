"""Layer sampling: the second view is what a random layer of a frozen copy makes of the sentence.

Paper: Kim et al. 2021, "Self-Guided Contrastive Learning for BERT Sentence Representations" (SG-OPT)

    h_i = pool(H_k),  k uniform on 0 (the embeddings) .. L, drawn for every sentence,  pool = max over its tokens

The copy stays as the encoder was before training, so the last layer learns from what the others knew. The paper's
regularizer that keeps the two models near each other is not part of the view.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn

from mirrormask.core.errors import one_of
from mirrormask.models.copies import copy_of, still
from mirrormask.views import View, views

POOLS = ("max", "mean")


def sample_layers(layers: Tensor, mask: Tensor, chosen: Tensor, pool: str) -> Tensor:
    """Return for each row the pooled states (n, d) of its chosen layer.

    Args:
        layers: states of all layers (layers, n, length, d).
        mask: 1 at real tokens (n, length).
        chosen: the layer of each row (n,).
        pool: `max` or `mean`, over real tokens.
    """
    states = layers[chosen, torch.arange(len(mask), device=mask.device)]  # (n, length, d)
    real = mask[..., None] == 1
    if pool == "max":
        return states.masked_fill(~real, -torch.inf).amax(dim=1)
    return (states * real).sum(dim=1) / real.sum(dim=1)


class LayerEncoder(nn.Module):
    """A frozen encoder that reads a random layer for every row.

    Args:
        encoder: the encoder; it is not copied.
        pool: `max` or `mean`.
    """

    def __init__(self, encoder: Any, pool: str) -> None:
        super().__init__()
        self.encoder = encoder
        self.pool = pool
        self.max_seq_length = encoder.max_seq_length

    def __getitem__(self, index: int) -> Any:
        return self.encoder[index]

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the pooled states of a layer drawn for each row."""
        run = self.encoder[0].model(**features, output_hidden_states=True)
        layers = torch.stack(run.hidden_states)
        mask = features["attention_mask"]
        chosen = torch.randint(len(layers), (len(mask),), device=mask.device)
        return {"sentence_embedding": sample_layers(layers, mask, chosen, self.pool)}


@views.register("layer-sample")
class LayerSample(View):
    """See the sentence at a random layer of the encoder as it was before training.

    Args:
        pool: how the states of the layer become a vector, `max` (as the paper) or `mean`.

    Relations: `momentum` sees with a copy that follows; here the copy stays.

    Example:
        >>> LayerSample().pool
        'max'
    """

    def __init__(self, pool: str = "max") -> None:
        super().__init__()
        self.pool = one_of("pool", pool, POOLS, of="layer-sample")
        self.frozen: LayerEncoder | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Copy the encoder as it is now."""
        self.frozen = LayerEncoder(copy_of(encoder), self.pool).requires_grad_(False)

    def encoder_of(self, encoder: Any) -> Any:
        """Return the frozen copy."""
        return self.frozen

    @contextlib.contextmanager
    def forward_with(self, encoder: Any) -> Iterator[None]:
        """Run without a gradient and without dropout."""
        with torch.no_grad(), still(encoder):
            yield

    @property
    def forward_key(self) -> str:
        """Return a key of its own: no other view has this copy."""
        return f"layer-sample {id(self)}"
