"""An exported encoder as a module of a `SentenceTransformer`, so that whatever reads encoders reads it too.

Two modules: a graph that onnxruntime or OpenVINO runs, and a table of token vectors, which is sentence-transformers'
own `StaticEmbedding` with rows of tokens as the other encoders have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.base.modules.input_module import InputModule
from sentence_transformers.sentence_transformer.modules import StaticEmbedding
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from mirrormask.core.batch import Frame
from mirrormask.core.errors import ModelError
from mirrormask.models.fingerprint import fingerprint
from mirrormask.models.runtimes import ExportPlan, open_runtime

STATIC_MODULES = (
    f"{StaticEmbedding.__module__}.StaticEmbedding",
    "sentence_transformers.models.StaticEmbedding",
    "sentence_transformers.models.StaticEmbedding.StaticEmbedding",
)
"""What `modules.json` calls a table of token vectors, by this version of the library and by earlier ones."""

_NO_LIMIT = 1 << 20  # tokens that are read of a text where nothing says how many


class ExportedGraph(InputModule):
    """Token ids in, sentence vectors out, by something else than torch.

    Args:
        folder: that `mirrormask export` wrote.
        threads: to compute with; 0 is as many as torch has.
    """

    def __init__(self, folder: Path | str, *, threads: int = 0) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.plan = ExportPlan.read(folder)
        self.max_seq_length = self.plan.max_length
        self.frame = Frame(np.array(self.plan.prefix, np.int64), np.array(self.plan.suffix, np.int64))
        self.tokenizer = PreTrainedTokenizerFast.from_pretrained(str(folder))
        self._run = open_runtime(folder, self.plan, threads=threads or torch.get_num_threads())
        self._digest = ""

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Return ids and mask of the texts, filled to the longest."""
        texts = [prompt + text if prompt else text for text in inputs]
        bare = self.tokenizer(texts, add_special_tokens=False)["input_ids"]
        ids, mask = self.plan.rows(bare)  # type: ignore[arg-type]
        return {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(mask), "modality": "text"}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add `sentence_embedding` (n, d)."""
        ids: Tensor = features["input_ids"]
        mask: Tensor = features["attention_mask"]
        if (more := self.plan.least_width - ids.shape[1]) > 0:
            ids = torch.nn.functional.pad(ids, (0, more), value=self.plan.pad_id)
            mask = torch.nn.functional.pad(mask, (0, more))
        features["sentence_embedding"] = torch.from_numpy(self._run(ids.cpu().numpy(), mask.cpu().numpy()))
        return features

    def get_embedding_dimension(self) -> int:
        """Return the width of the sentence vectors."""
        return self.plan.dimension

    def extra_repr(self) -> str:
        """Return backend and digest of the files, which stand for weights that torch does not see."""
        self._digest = self._digest or fingerprint(self.folder)
        return f"{self.plan.backend}, {self._digest}"

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: Any) -> ExportedGraph:
        """Open the module of a folder, or of a model of the hub."""
        folder = Path(model_name_or_path)
        if not folder.is_dir():
            from huggingface_hub import snapshot_download

            folder = Path(snapshot_download(model_name_or_path, revision=kwargs.get("revision")))
        return cls(folder / subfolder)

    def save(self, output_path: str, *args: Any, **kwargs: Any) -> None:
        """Refuse: what runs is not what torch could write."""
        raise ModelError("An exported encoder cannot be saved anew. Copy its folder, or export again.")


class StaticVectors(StaticEmbedding):
    """One vector per token, averaged; it takes padded rows with their mask, as the encoders of our bulk pass do."""

    def __init__(self, tokenizer: Any, embedding_weights: Any = None, **kwargs: Any) -> None:
        super().__init__(tokenizer, embedding_weights, **kwargs)
        bare: Any = self.tokenizer  # type: ignore[has-type]
        self.table_tokenizer = bare
        self.frame = Frame(np.empty(0, np.int64), np.empty(0, np.int64))
        self.limit = int((bare.truncation or {}).get("max_length", _NO_LIMIT))
        pieces = type(bare.model).__name__ != "WordLevel"  # whole words leave many out, which is no news
        unknown = getattr(bare.model, "unk_token", None) if pieces else None
        self.tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, unk_token=unknown)

    @property
    def max_seq_length(self) -> int:
        """Return the tokens that are read of a text."""
        return self.limit

    def preprocess(self, inputs: Sequence[Any], prompt: str | None = None, **_: Any) -> dict[str, Any]:
        """Return the ids of the texts end to end, and where each begins."""
        texts = [prompt + text if prompt else text for text in inputs]
        bare = [each.ids[: self.limit] for each in self.table_tokenizer.encode_batch(texts, add_special_tokens=False)]
        lengths = torch.tensor([0, *map(len, bare)])
        flat = torch.tensor([number for ids in bare for number in ids], dtype=torch.long)
        return {"input_ids": flat, "offsets": lengths.cumsum(0)[:-1]}

    def forward(self, features: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
        """Add `sentence_embedding` (n, d)."""
        if "offsets" not in features:
            mask: Tensor = features["attention_mask"].bool()
            lengths = torch.nn.functional.pad(mask.sum(dim=1), (1, 0))
            features = {**features, "input_ids": features["input_ids"][mask], "offsets": lengths.cumsum(0)[:-1]}
        return super().forward(features, **kwargs)

    @classmethod
    def load(cls, model_name_or_path: str, **kwargs: Any) -> StaticVectors:  # type: ignore[override]
        """Open the module of a folder, or of a model of the hub."""
        found = StaticEmbedding.load(model_name_or_path, **kwargs)
        return cls(found.tokenizer, embedding_weights=found.embedding.weight.detach())


def is_exported(encoder: Any) -> bool:
    """Say whether an encoder has no transformer that torch runs."""
    return isinstance(encoder[0], (ExportedGraph, StaticEmbedding))


def backend_of(encoder: Any) -> str:
    """Return what computes the vectors of an encoder: `torch`, `onnx`, `onnx int8`, `openvino` or `static`."""
    first = encoder[0]
    if isinstance(first, ExportedGraph):
        return first.plan.backend + (" int8" if first.plan.precision == "int8" else "")
    return "static" if isinstance(first, StaticEmbedding) else "torch"
