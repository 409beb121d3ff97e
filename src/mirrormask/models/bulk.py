"""The one bulk pass: texts in, sentence vectors out, sorted by true length and cut by token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.blocks import in_blocks
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import ModelError
from mirrormask.core.framing import frame_of
from mirrormask.core.shards import length_shards
from mirrormask.models.precision import best_precision, varied_shapes

Progress = Callable[[int], None]
"""Called with the number of texts just done."""


def token_budget(device: torch.device) -> int:
    """Return how many padded tokens a forward should hold: what fits a CPU's cache, or fills a GPU."""
    return 65_536 if device.type == "cuda" else 2_048


def around_texts(encoder: Any) -> Frame:
    """Return the tokens that an encoder sees around every text; some see none."""
    own: Frame | None = getattr(encoder[0], "frame", None)
    return frame_of(encoder.tokenizer) if own is None else own


class Tokenizing:
    """How texts become the rows that an encoder sees; who asks often keeps it.

    Args:
        encoder: a SentenceTransformer.
        enough: tokens to see before warning that many of them are unknown.
    """

    def __init__(self, encoder: Any, *, enough: int = 1) -> None:
        self._encoder, self._bare = encoder, Encoder(encoder.tokenizer, enough=enough)
        self._frame = around_texts(encoder)

    def __call__(self, texts: Sequence[str], max_length: int | None = None) -> Tokens:
        """Return the rows of texts, special tokens or prompt included."""
        limit = max_length or self._encoder.max_seq_length or 512
        if getattr(self._encoder[0], "do_lower_case", False):
            texts = [text.lower() for text in texts]
        rows = (np.frombuffer(row, dtype=self._bare.dtype).astype(np.int64) for row in self._bare(list(texts)))
        return Tokens.of([self._frame.around(row, limit) for row in rows])


def tokenize(encoder: Any, texts: Sequence[str], *, max_length: int | None = None) -> Tokens:
    """Return the rows the encoder would see for these texts, special tokens or prompt included."""
    return Tokenizing(encoder)(texts, max_length)


def encode_tokens(
    encoder: Any, tokens: Tokens, *, precision: str = "auto", progress: Progress | None = None, spare: int = 0
) -> NDArray[np.float32]:
    """Return the sentence vectors (n, d) of tokenized rows, in their order.

    Args:
        encoder: a SentenceTransformer.
        tokens: from `tokenize`.
        precision: `auto`, `fp32`, `bf16` or `fp16`.
        progress: called with the number of texts just done.
        spare: tokens of padding that are less than another forward, where there are few rows.

    Raises:
        ModelError: a vector has NaN or infinity in it.
    """
    device = encoder.device
    chosen = best_precision(device, precision)
    pad = encoder.tokenizer.pad_token_id or 0
    width = encoder.get_embedding_dimension()
    out = np.empty((len(tokens), width), dtype=np.float32)
    was_training = encoder.training
    encoder.eval()
    try:
        with torch.inference_mode(), chosen.autocast(device), varied_shapes():
            for shard in length_shards(tokens.lengths, token_budget(device), tolerance=0.15, spare=spare):
                ids, mask = tokens.padded(pad, shard)
                features = {"input_ids": ids.to(device), "attention_mask": mask.to(device)}
                out[shard] = encoder(features)["sentence_embedding"].float().cpu().numpy()
                if progress is not None:
                    progress(len(shard))
    finally:
        encoder.train(was_training)
    if not np.isfinite(out).all():
        raise ModelError(
            f"{getattr(encoder, 'mirrormask_source', 'The model')} gives vectors with NaN or infinity when it computes "
            f"in {chosen.name}. Its weights are damaged or its training diverged: take an earlier checkpoint"
            + (", or try --precision fp32." if chosen.low else ".")
        )
    return out


def encode_blocks(
    encoder: Any,
    texts: Sequence[str] | Iterator[str],
    *,
    max_length: int | None = None,
    precision: str = "auto",
    progress: Progress | None = None,
) -> Iterator[NDArray[np.float32]]:
    """Yield vectors block by block, so that memory does not grow with the number of texts."""
    limit = min(max_length, encoder.max_seq_length or max_length) if max_length else None
    for block in in_blocks(texts):
        tokens = tokenize(encoder, block, max_length=limit)
        yield encode_tokens(encoder, tokens, precision=precision, progress=progress)


def encode_texts(
    encoder: Any,
    texts: Sequence[str],
    *,
    max_length: int | None = None,
    precision: str = "auto",
    progress: Progress | None = None,
) -> NDArray[np.float32]:
    """Return the sentence vectors (n, d) of the texts, in their order; equal texts are encoded once.

    The public `encoder.encode` of sentence-transformers gives the same vectors; this pass is what every
    internal bulk job uses, and it takes the precision the device is good at.

    Args:
        encoder: a SentenceTransformer.
        texts: what to encode.
        max_length: tokens to read of a text at most; never more than the encoder reads.
        precision: `auto`, `fp32`, `bf16` or `fp16`.
        progress: called with the number of texts just done.
    """
    unique = list(dict.fromkeys(texts))
    blocks = list(encode_blocks(encoder, unique, max_length=max_length, precision=precision, progress=progress))
    vectors = np.concatenate(blocks) if blocks else np.empty((0, encoder.get_embedding_dimension()), dtype=np.float32)
    if len(unique) == len(texts):
        return vectors
    place = {text: row for row, text in enumerate(unique)}
    return vectors[[place[text] for text in texts]]
