"""The mean over padding too: every text is padded to one width, and all its positions are averaged.

Liu et al. 2021, "Mirror-BERT": the published sentence models were trained and measured so. What stands at padding has
seen the text, but a short text is drowned in it, so this is a choice to compare with the paper and no default.
Two modules of ours, because the library's mean leaves padding out; they load through `mirrormask.load`.
"""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from sentence_transformers.base.modules import Transformer
from sentence_transformers.base.modules.module import Module
from torch import Tensor

TRAINED, MEASURED = 50, 64
"""Widths in training and afterwards, as the published scripts have them."""


class PaddedTransformer(Transformer):
    """A transformer that pads every text to one width: 50 in training, 64 afterwards; a longer text stays longer."""

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add the states of all positions, padding too."""
        mask: Tensor = features["attention_mask"]
        more = max(0, (TRAINED if self.training else MEASURED) - mask.shape[1])
        more = min(more, self.model.config.max_position_embeddings - mask.shape[1])
        pad = self.tokenizer.pad_token_id or 0  # type: ignore[union-attr]
        padded = {**features, "attention_mask": F.pad(mask, (0, more))}
        if "inputs_embeds" in features:
            row = self.model.get_input_embeddings()(torch.tensor(pad, device=mask.device))
            words: Tensor = features["inputs_embeds"]
            padded["inputs_embeds"] = torch.cat([words, row.to(words.dtype).expand(len(words), more, -1)], dim=1)
        else:
            padded["input_ids"] = F.pad(features["input_ids"], (0, more), value=pad)
        if "token_type_ids" in features:
            padded["token_type_ids"] = F.pad(features["token_type_ids"], (0, more))
        return super().forward(padded, **kwargs)


class PaddedMean(Module):
    """The mean of the states at all positions.

    Args:
        embedding_dimension: width of the states.
    """

    config_keys = ["embedding_dimension"]  # noqa: RUF012

    def __init__(self, embedding_dimension: int) -> None:
        super().__init__()
        self.embedding_dimension = embedding_dimension

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add `sentence_embedding` (n, d)."""
        features["sentence_embedding"] = features["token_embeddings"].mean(dim=1)
        return features

    def get_embedding_dimension(self) -> int:
        """Return the width of the sentence vectors."""
        return self.embedding_dimension

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the configuration; there are no weights."""
        self.save_config(output_path)
