"""What a tokenizer's ids mean to us: which begin a word, and which stand around every text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Frame
from mirrormask.core.errors import MirrormaskError
from mirrormask.data.sentences import is_cjk

TEXT = "{text}"
MASK = "[MASK]"

_PROBES = ("the", "of", "and", "in", "is", "a", "cat", "dog", "red", "one", "two", "的", "一", "是")

_PROBES_USED = 6  # with only two, words that begin or end alike could lend a piece to the frame


def word_starts(tokenizer: Any) -> NDArray[np.bool_]:
    """Return, for every id of the vocabulary, whether it begins a word.

    WordPiece marks what continues a word (`##ing`), byte-level BPE and SentencePiece mark what begins one (`Ġ`, `▁`).
    A Chinese or Japanese character begins a word of its own, and so does a special token. The first token of a text
    begins a word whatever this table says of it, because some tokenizers leave it unmarked.
    """
    count = len(tokenizer)
    tokens = [token or "" for token in tokenizer.convert_ids_to_tokens(list(range(count)))]
    begins = _RULES[_mark(tokens)]
    starts = np.fromiter((begins(token) for token in tokens), dtype=np.bool_, count=count)
    special = [i for i in tokenizer.all_special_ids if i < count]
    starts[special] = True
    return starts


def _mark(tokens: list[str]) -> str:
    """Return how this vocabulary marks words: the most frequent of the three ways, or nothing where none is used."""
    counts = {mark: sum(token.startswith(mark) for token in tokens) for mark in ("##", "Ġ", "▁")}
    mark = max(counts, key=lambda key: counts[key])
    return mark if counts[mark] > 0 else ""


def _bytes_of() -> dict[str, int]:
    """Return the byte behind each character of a byte-level vocabulary (GPT-2's table)."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + place): byte for place, byte in enumerate(others)}


_BYTES = _bytes_of()


def _begins_bytes(token: str) -> bool:
    data = bytes(_BYTES.get(character, 0) for character in token)
    if not data or chr(data[0]).isspace():
        return bool(data)
    text = data.decode("utf-8", "ignore")
    return is_cjk(text) if text else 0xE3 <= data[0] <= 0xE9  # the first bytes of a character that has its own word


_RULES: dict[str, Callable[[str], bool]] = {
    "##": lambda token: not token.startswith("##") or is_cjk(token[2:]),
    "Ġ": _begins_bytes,
    "▁": lambda token: token.startswith("▁") or is_cjk(token),
    "": lambda token: True,
}


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
