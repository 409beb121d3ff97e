"""The frame of a tokenizer: what it puts around every text, or a prompt with a mask."""

from __future__ import annotations

from typing import Any

import numpy as np

from mirrormask.core.batch import Frame
from mirrormask.core.errors import MirrormaskError


def frame_of(tokenizer: Any, template: str | None = None) -> Frame:
    """Return the tokens before and after a text.

    Args:
        tokenizer: a Hugging Face tokenizer.
        template: a prompt with `{text}` and one `[MASK]`, such as ``'This sentence : "{text}" means [MASK].'``;
            `[MASK]` stands for the tokenizer's own mask token.
    """
    with_specials = tokenizer("a", add_special_tokens=True)["input_ids"]
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    start = next(i for i in range(len(with_specials)) if with_specials[i : i + len(bare)] == bare)
    prefix, suffix = with_specials[:start], with_specials[start + len(bare) :]
    if template is not None:
        before, after = _parts(tokenizer, template)
        prefix = prefix + tokenizer(before, add_special_tokens=False)["input_ids"]
        suffix = tokenizer(after, add_special_tokens=False)["input_ids"] + suffix
    return Frame(np.asarray(prefix, dtype=np.int64), np.asarray(suffix, dtype=np.int64))


def _parts(tokenizer: Any, template: str) -> tuple[str, str]:
    if template.count("{text}") != 1 or template.count("[MASK]") != 1:
        raise MirrormaskError(f"A template needs '{{text}}' once and '[MASK]' once. Got {template!r}.")
    if tokenizer.mask_token is None:
        raise MirrormaskError("This model has no mask token, so a mask-prompt cannot be used. Choose another pooling.")
    before, after = template.split("{text}")
    return tuple(part.replace("[MASK]", tokenizer.mask_token).strip() for part in (before, after))  # type: ignore[return-value]
