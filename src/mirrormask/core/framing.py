"""The frame of a tokenizer: what it puts around every text, or a prompt with a mask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from mirrormask.core.batch import Frame
from mirrormask.core.errors import MirrormaskError

TEXT = "{text}"
MASK = "[MASK]"

_PROBES = ("the", "of", "and", "in", "is", "a", "cat", "dog", "red", "one", "two", "的", "一", "是")
_PROBES_USED = 6  # with only two, words that begin or end alike could lend a piece to the frame


def frame_of(tokenizer: Any, template: str | None = None) -> Frame:
    """Return the ids before and after every text: the special tokens, or those and a prompt.

    They are what two different words have in common before and after themselves, so no rule about any tokenizer is
    needed. A text is tokenized alone and then framed; with a template that is what tokenizing the whole gives where
    the words next to the text are split off anyway (white space or punctuation).

    Args:
        tokenizer: a Hugging Face tokenizer.
        template: a prompt such as 'This sentence : "{text}" means [MASK].'; `[MASK]` stands for the tokenizer's own.

    Raises:
        MirrormaskError: the template lacks one of its two places, or the tokenizer has no mask token.
    """
    whole = TEXT if template is None else _checked(tokenizer, template)
    framed: list[list[int]] = []
    for word in _single_tokens(tokenizer):
        ids = list(tokenizer(whole.replace(TEXT, word))["input_ids"])
        if ids not in framed:
            framed.append(ids)
        if len(framed) == _PROBES_USED:
            break
    if len(framed) < 2:
        raise MirrormaskError("The tokenizer knows fewer than two words. Use one with a vocabulary.")
    first, *others = framed
    left = min(_common(first, other) for other in others)
    right = min(_common(first[::-1], other[::-1]) for other in others)
    around = np.asarray(first, dtype=np.int64)
    return Frame(prefix=around[:left], suffix=around[len(around) - right :])


def _checked(tokenizer: Any, template: str) -> str:
    for place in (TEXT, MASK):
        if template.count(place) != 1:
            raise MirrormaskError(
                f"The 'template' must hold {place} exactly once. Got {template!r}; "
                f"write it like 'This sentence : \"{TEXT}\" means {MASK}.'"
            )
    if tokenizer.mask_token is None:
        raise MirrormaskError("A template needs a tokenizer with a mask token. Use a masked language model.")
    return template.replace(MASK, tokenizer.mask_token)


def _single_tokens(tokenizer: Any) -> Iterator[str]:
    """Yield words that are one known token each, usual ones first."""
    unknown = tokenizer.unk_token_id
    special = set(tokenizer.all_special_tokens)
    taken = set()
    for word in (*_PROBES, *(token.lstrip("Ġ▁") for token in tokenizer.get_vocab() if token not in special)):
        if word.isalnum():
            ids = tokenizer(word, add_special_tokens=False)["input_ids"]
            if len(ids) == 1 and ids[0] != unknown and ids[0] not in taken:
                taken.add(ids[0])
                yield word


def _common(one: list[int], other: list[int]) -> int:
    """Return how many ids two lists share from their beginning."""
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return same
