"""Another template: the same sentence in other words around it, and what the template alone says taken away.

Paper: Jiang et al. 2022, "PromptBERT: Improving BERT Sentence Embeddings with Prompts", Section 3.3

    positive = h_2(x) - h_2(),   anchor = h_1(x) - h_1()

with h_k(x) the state of the mask in template k around the sentence, and h_k() that in the template alone, its tokens at
the positions they have around the sentence: the sentence's places are there and hidden. It depends on the length of the
sentence alone, so each length of a batch is read once. It is taken away in training only.
"""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.models.mask_prompt import MaskPooling
from mirrormask.models.soft_template import SoftPromptedTransformer
from mirrormask.views import View, Vocabulary, views

OTHER = 'This sentence of "{text}" means [MASK].'


class Denoised(nn.Module):
    """An encoder whose vectors have lost what its template says alone.

    Args:
        encoder: a mask-prompted encoder; it is not copied.
        frame: the template's tokens.
    """

    def __init__(self, encoder: Any, frame: Frame) -> None:
        super().__init__()
        self.encoder, self.frame = encoder, frame
        self.tokenizer, self.max_seq_length = encoder.tokenizer, encoder.max_seq_length

    def __getitem__(self, index: int) -> Any:
        return self.encoder[index]

    def forward(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the vectors without the template's own."""
        lengths, which = (features["attention_mask"].sum(dim=1) - len(self.frame)).unique(return_inverse=True)
        found: dict[str, Tensor] = self.encoder(features)
        found["sentence_embedding"] = found["sentence_embedding"] - self.alone(lengths)[which]
        return found

    def alone(self, lengths: Tensor) -> Tensor:
        """Return the state of the mask in the template around so many hidden tokens (k, d)."""
        before, after = len(self.frame.prefix), len(self.frame.suffix)
        filler, pad = self.tokenizer.mask_token_id, self.tokenizer.pad_token_id or 0
        sizes = lengths.tolist()
        rows = Tokens.of(
            [np.concatenate([self.frame.prefix, np.full(size, filler), self.frame.suffix]) for size in sizes]
        )
        ids, mask = (t.to(lengths.device) for t in rows.padded(pad, range(len(sizes))))
        place = torch.arange(mask.shape[1], device=mask.device)
        hidden = (place >= before) & (place < before + lengths[:, None])
        states = self.encoder[0]({"input_ids": ids, "attention_mask": mask.masked_fill(hidden, 0)})["token_embeddings"]
        at = before + lengths + after - 1 - self.encoder[1].from_end
        return states[torch.arange(len(sizes), device=at.device), at]


@views.register("template")
class OtherTemplate(View):
    """Write the sentence into another template.

    Args:
        template: a prompt with `{text}` and one `[MASK]`, with as many tokens after the mask as the encoder's own;
            empty keeps the encoder's own.
        denoise: take away what the template says alone; needs the pooling `mask-prompt` or `soft-prompt`.

    Relations: two of these on a `mask-prompt` encoder are PromptBERT.

    Example:
        >>> OtherTemplate(denoise=True).denoise
        True
    """

    def __init__(self, template: str = 'This sentence of "{text}" means [MASK].', denoise: bool = False) -> None:
        super().__init__()
        self.template = template
        self.denoise = denoise
        self._frame: Frame | None = None
        self._own: tuple[Any, ...] = ()  # in a tuple: the encoder in it is the trained one, not another
        self._soft = False

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Read the template as tokens."""
        own = getattr(encoder[0], "frame", None)
        self._soft = isinstance(encoder[0], SoftPromptedTransformer)
        frame = frame_of(encoder.tokenizer, self.template) if self.template else own or frame_of(encoder.tokenizer)
        if own is not None and _after_mask(frame, encoder) != _after_mask(own, encoder):
            raise MirrormaskError(
                f"The 'template' of the view template must end as the encoder's own, {encoder[0].template!r}, after "
                f"[MASK]. Got {self.template!r}."
            )
        if self.denoise and not isinstance(encoder[1], MaskPooling):
            raise MirrormaskError(
                "The view template takes a template's own vector away only from an encoder that reads its mask. Take "
                "the pooling mask-prompt."
            )
        self._frame, self._limit = frame, encoder.max_seq_length or 512
        self._own = (Denoised(encoder, frame),) if self.denoise else ()

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with the template's tokens around the text, in place of the encoder's own."""
        if self._frame is None or not self.template:
            return rows
        before, after = len(vocabulary.frame.prefix), len(vocabulary.frame.suffix)
        texts = (row[before : len(row) - after] for row in rows.rows)
        return Tokens.of([self._frame.around(ids, self._limit) for ids in texts])

    def encoder_of(self, encoder: Any) -> Any:
        """Return the encoder, or what takes the template away from its vectors."""
        return self._own[0] if self._own else encoder

    def forward_with(self, encoder: Any) -> contextlib.AbstractContextManager[Any]:
        """Let an encoder with a learned template see another one as it is written."""
        return encoder[0].as_written() if self._soft and self.template else contextlib.nullcontext()

    @property
    def forward_key(self) -> str:
        """Return a key that two views share when their rows may go through the encoder together."""
        alone = self.denoise or (self._soft and bool(self.template))
        return f"template {self.template} {self.denoise}" if alone else "plain"


def _after_mask(frame: Frame, encoder: Any) -> int:
    """Return how many tokens stand after the mask; -1 where it is not after the text."""
    after = frame.suffix.tolist()
    mask = encoder.tokenizer.mask_token_id
    return len(after) - 1 - after.index(mask) if mask in after else -1
