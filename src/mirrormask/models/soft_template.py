"""A mask-prompt whose words are learned: embeddings of its own stand in place of the template's words.

Jiang et al. 2022, "PromptBERT", continuous templates (after Zhong et al. 2021, OptiPrompt), on the soft tokens of
P-tuning. They begin as the words' own embeddings; special tokens and the mask stay. They are saved with the encoder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.utils.hub import cached_file

from mirrormask.core.errors import ModelError
from mirrormask.models.mask_prompt import TEMPLATE, PromptedTransformer
from mirrormask.models.model_files import PROMPT
from mirrormask.models.soft_prompt import SoftPrompt


class SoftPromptedTransformer(PromptedTransformer):
    """A transformer that writes each text into a template, and sees learned embeddings for its words.

    Args:
        template: a prompt with `{text}` and one `[MASK]`.
    """

    written = False
    """Whether the words of a template are seen as they are written, for a moment: those of another one."""

    def __init__(self, model_name_or_path: str, *, template: str = TEMPLATE, **kwargs: Any) -> None:
        super().__init__(model_name_or_path, template=template, **kwargs)
        special = self.tokenizer.all_special_ids  # type: ignore[union-attr]
        prefix, suffix = self.frame.prefix, self.frame.suffix
        self._before = np.flatnonzero(~np.isin(prefix, special))
        behind = np.flatnonzero(~np.isin(suffix, special))
        self._from_end = len(suffix) - behind
        words = torch.from_numpy(np.concatenate([prefix[self._before], suffix[behind]]))
        values = self.model.get_input_embeddings().weight.detach()[words]
        self.prompt = SoftPrompt.of(_kept(model_name_or_path, values))

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add the token states, as the transformer gives them for the learned words."""
        if not self.written:
            features = dict(features)
            ids = features.pop("input_ids", None)
            x = self.model.get_input_embeddings()(ids) if ids is not None else features["inputs_embeds"]
            features["inputs_embeds"] = self.put(x, features["attention_mask"])
        found: dict[str, Any] = super().forward(features, **kwargs)
        return found

    def put(self, x: Tensor, mask: Tensor) -> Tensor:
        """Return word embeddings (n, length, d) with the learned ones in the places of the template's words."""
        count = x.shape[0]  # not len(x), which a graph would take for a constant
        rows = torch.arange(count, device=x.device)[:, None]
        ends = mask.shape[1] - mask.flip(1).argmax(dim=1)  # after the last real token, whatever is hidden before it
        before = torch.from_numpy(self._before).to(x.device).expand(count, -1)
        places = torch.cat([before, ends[:, None] - torch.from_numpy(self._from_end).to(x.device)], dim=1)
        learned = self.prompt().to(x.dtype).expand(count, -1, -1)
        return x.index_put((rows, places), learned)

    @contextlib.contextmanager
    def as_written(self) -> Iterator[None]:
        """See words as they are inside the block."""
        self.written = True
        try:
            yield
        finally:
            self.written = False

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the transformer, and the learned embeddings beside it."""
        super().save(output_path, *args, **kwargs)
        values = self.prompt().detach().cpu().contiguous()
        save_file({"embeddings": values}, Path(output_path) / PROMPT)


def _kept(name: str, words: Tensor) -> Tensor:
    """Return the learned embeddings that were saved with a model, or those of the words where none were."""
    kept = cached_file(
        name,
        PROMPT,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=False,
    )
    if kept is None:
        return words
    learned = load_file(kept)["embeddings"]
    if learned.shape != words.shape:
        raise ModelError(
            f"{PROMPT} of {name} holds {tuple(learned.shape)} numbers, and the words of its template take "
            f"{tuple(words.shape)}. Open it with the template it was trained with."
        )
    return learned
