"""Character span mask: a sentence with a few neighboring characters hidden, in the middle of words or across them.

Paper: Liu et al. 2021, "Fast, Effective, and Self-Supervised: Transforming Masked Language Models into Universal
    Lexical and Sentence Encoders" (Mirror-BERT), Section 2, "random span masking"

    x' = c_1 ... c_(s - 1) [MASK] c_(s + length) ...,  s uniform, where the text has `shortest` characters or more

The published code differs in three things, which are the named choice `faithful`: it replaces the first place where the
drawn characters stand, which need not be the drawn one; it never reaches the last character; and it writes `[MASK]`
whatever the tokenizer calls its mask.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import nn

from mirrormask.core.batch import Tokens
from mirrormask.core.errors import at_least
from mirrormask.views import View, Vocabulary, views
from mirrormask.views.span_mask import need_mask


def mask_characters(
    text: str, mask: str, *, length: int, shortest: int, faithful: bool, rng: np.random.Generator
) -> str:
    """Return the text with a span of characters replaced by one mask.

    Args:
        text: what to hide a part of.
        mask: what is written there.
        length: characters of the span.
        shortest: a text with fewer characters stays as it is.
        faithful: take the first place where the drawn characters stand, and never the last character.
        rng: where the place comes from.
    """
    if len(text) < max(shortest, length + 1):
        return text
    start = int(rng.integers(len(text) - length, endpoint=not faithful))
    if faithful:
        start = text.index(text[start : start + length])
    return f"{text[:start]} {mask} {text[start + length :]}"


@views.register("character-span-mask")
class CharacterSpanMask(View):
    """Mask one span of characters and tokenize what is left anew.

    Args:
        length: characters of the span (Section 3: 5 for phrases and sentences).
        shortest: a text with fewer characters stays as it is (the published code has 30).
        faithful: as the published code does it: the first place with the same characters, never the last character,
            and `[MASK]` for every tokenizer.

    Relations: `span-mask` hides whole tokens.

    Example:
        >>> CharacterSpanMask().length
        5
    """

    def __init__(self, length: int = 5, shortest: int = 30, faithful: bool = False) -> None:
        super().__init__()
        self.length = at_least("length", length, 1, of="character-span-mask")
        self.shortest = at_least("shortest", shortest, 1, of="character-span-mask")
        self.faithful = faithful

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Refuse a tokenizer that has no mask."""
        need_mask(encoder, "character-span-mask")

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with a span masked in each that is long enough; special tokens and prompts stay."""
        before, after = len(vocabulary.frame.prefix), len(vocabulary.frame.suffix)
        mask = "[MASK]" if self.faithful else vocabulary.tokenizer.mask_token
        options: dict[str, Any] = {"length": self.length, "shortest": self.shortest, "faithful": self.faithful}
        texts = [vocabulary.text_of(row[before : len(row) - after]) for row in rows.rows]
        seen = [mask_characters(text, mask, **options, rng=rng) for text in texts]
        changed = [place for place, text in enumerate(texts) if seen[place] != text]
        found = list(rows.rows)
        if changed:
            masked = vocabulary.tokenizer([seen[place] for place in changed], add_special_tokens=False)["input_ids"]
            for place, ids in zip(changed, masked, strict=True):
                row = found[place]
                found[place] = np.concatenate([row[:before], np.asarray(ids, row.dtype), row[len(row) - after :]])
        return Tokens.of(found)
