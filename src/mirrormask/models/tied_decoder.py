"""A decoder that shares every weight with the encoder, and attends to one vector: what a denoising objective needs."""

from __future__ import annotations

import copy
from typing import Any

from torch import Tensor, nn
from transformers import AutoModel

from mirrormask.core.errors import ModelError
from mirrormask.models.embeddings import base_model


class TiedDecoder(nn.Module):
    """Predicts the states of each next token from those before it and from a sentence vector.

    Args:
        encoder: a SentenceTransformer, whose weights are the decoder's; only the attention to the vector is fresh.
    """

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        base = base_model(encoder)
        if encoder.get_embedding_dimension() != base.config.hidden_size:
            raise ModelError(
                f"The decoder reads sentence vectors of {base.config.hidden_size} dimensions, and this encoder's have "
                f"{encoder.get_embedding_dimension()}. Take a pooling that keeps their size, such as cls or mean."
            )
        config = copy.deepcopy(base.config)
        config.is_decoder, config.add_cross_attention, config.use_cache = True, True, False
        model = AutoModel.from_config(config)
        if getattr(model, "pooler", None) is not None:
            model.pooler = None
        modules, own = dict(model.named_modules()), dict(base.named_parameters())
        fresh = [name for name, _ in model.named_parameters() if name not in own]
        if not any("crossattention" in name for name in fresh):
            raise ModelError(
                f"A {base.config.model_type} cannot be a decoder that attends to a sentence vector. Start from a BERT "
                "or RoBERTa."
            )
        for name, weight in own.items():
            place, _, last = name.rpartition(".")
            if place in modules:
                setattr(modules[place], last, weight)
        self.model = model.to(next(base.parameters()).device)

    def forward(self, ids: Tensor, vectors: Tensor) -> Tensor:
        """Return states (n, length, d), each of which has seen the tokens up to its own and the row's vector.

        Args:
            ids: tokens (n, length); padding at the end is not seen by what stands before it.
            vectors: one for each row (n, d).
        """
        states: Tensor = self.model(input_ids=ids, encoder_hidden_states=vectors[:, None]).last_hidden_state
        return states
