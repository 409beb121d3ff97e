"""Which ids of a vocabulary begin a word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.text.sentences import is_cjk


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
