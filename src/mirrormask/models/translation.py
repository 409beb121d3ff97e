"""Translation models: any encoder and decoder that transformers opens, many sentences at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from mirrormask.core.errors import ModelError
from mirrormask.core.shards import length_shards
from mirrormask.models.loading import opening
from mirrormask.models.names import resolve

_TOKENS = 2048  # of sentences of similar length that are translated at a time
_MORE = 1.5  # how many times longer than a sentence its translation may be, and 10 tokens


class Translator:
    """A translation model.

    Args:
        name: a model of the hub, or a folder.
        device: where it runs; by default the best device there is.
        longest: tokens of a sentence that are read.
    """

    def __init__(self, name: str, *, device: str | None = None, longest: int = 128) -> None:
        from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

        folder = resolve(name)
        with opening(name, folder):
            try:
                self.model: Any = AutoModelForSeq2SeqLM.from_pretrained(folder, dtype="float32")
            except ValueError as error:
                raise ModelError(
                    f"{name} is no translation model. Name one with an encoder and a decoder, such as "
                    "Helsinki-NLP/opus-mt-en-de."
                ) from error
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model = self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()
        self.longest = longest

    @torch.inference_mode()
    def __call__(self, texts: Sequence[str]) -> list[str]:
        """Return the likeliest translation of each text, word by word (greedy)."""
        rows = [self.tokenizer(text, truncation=True, max_length=self.longest)["input_ids"] for text in texts]
        found = [""] * len(rows)
        for shard in length_shards(np.array([len(row) for row in rows]), _TOKENS):
            given = self.tokenizer.pad({"input_ids": [rows[row] for row in shard]}, return_tensors="pt")
            given = {key: given[key].to(self.model.device) for key in ("input_ids", "attention_mask")}
            limit = int(_MORE * given["input_ids"].shape[1]) + 10
            out = self.model.generate(**given, max_new_tokens=limit, num_beams=1, do_sample=False)
            for row, text in zip(shard, self.tokenizer.batch_decode(out, skip_special_tokens=True), strict=True):
                found[row] = text.strip()
        return found
