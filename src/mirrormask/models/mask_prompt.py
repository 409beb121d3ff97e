"""The mask-prompt: a sentence is written into a template and read off at its mask.

Jiang et al. 2022, "PromptBERT": the state of [MASK] in 'This sentence : "…" means [MASK].' is the sentence vector.
Two modules of ours, because no library module writes text on both sides; they load through `mirrormask.load`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sentence_transformers.base.modules import Transformer
from sentence_transformers.base.modules.module import Module
from torch import Tensor

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of

TEMPLATE = 'This sentence : "{text}" means [MASK].'


class PromptedTransformer(Transformer):
    """A transformer that writes each text into a template; a text that is too long is cut, never the template.

    Args:
        template: a prompt with `{text}` and one `[MASK]`.
    """

    config_keys = [*Transformer.config_keys, "template"]  # noqa: RUF012

    def __init__(self, model_name_or_path: str, *, template: str = TEMPLATE, **kwargs: Any) -> None:
        super().__init__(model_name_or_path, **kwargs)
        self.template = template
        self.frame = frame_of(self.tokenizer, template)

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **kwargs: Any) -> dict[str, Any]:
        """Return ids and mask of the prompted texts, padded to the longest."""
        if not inputs:
            return {}
        texts = [prompt + text if prompt else text for text in inputs]
        bare = self.tokenizer(texts, add_special_tokens=False)["input_ids"]  # type: ignore[misc]
        limit = kwargs.get("max_length") or self.max_seq_length or 512
        if limit <= len(self.frame):
            raise MirrormaskError(
                f"The template takes {len(self.frame)} tokens, so 'max_length' must be above that. Got {limit}."
            )
        rows = Tokens.of([self.frame.around(np.asarray(ids, dtype=np.int64), limit) for ids in bare])
        ids, mask = rows.padded(self.tokenizer.pad_token_id, range(len(rows)))  # type: ignore[union-attr]
        return {"input_ids": ids, "attention_mask": mask, "modality": "text"}


class MaskPooling(Module):
    """The state at the template's mask, found from the end of the row so that a mask inside the text does no harm.

    Args:
        embedding_dimension: width of the states.
        from_end: how many tokens stand after the mask.
    """

    config_keys = ["embedding_dimension", "from_end"]  # noqa: RUF012

    def __init__(self, embedding_dimension: int, from_end: int) -> None:
        super().__init__()
        self.embedding_dimension = embedding_dimension
        self.from_end = from_end

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add `sentence_embedding` (n, d)."""
        states: Tensor = features["token_embeddings"]
        place = features["attention_mask"].sum(dim=1) - 1 - self.from_end  # (n,)
        places = place[:, None, None].expand(-1, 1, states.shape[2])
        features["sentence_embedding"] = states.gather(1, places).squeeze(1)
        return features

    def get_embedding_dimension(self) -> int:
        """Return the width of the sentence vectors."""
        return self.embedding_dimension

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Save the configuration; there are no weights."""
        self.save_config(output_path)
