"""From texts to token ids in bulk, without special tokens, padding or cuts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError
from mirrormask.core.unknown import UnknownCount

_CACHED_WORDS = 1 << 17  # about 25 MB
_LONGEST_CACHED = 40  # characters
_WORDS_AT_ONCE = 64
_MARKS = ",.()'\"-:;/?!"


class Encoder:
    """Texts in, the bytes of their token ids out.

    A fast tokenizer is copied, so that the padding and cutting that calls elsewhere set on it do no harm. Where a
    tokenizer works on each word between spaces alone, as BERT's does, the ids of frequent words are remembered: text
    repeats its words, and looking one up is many times faster than tokenizing it.

    Args:
        tokenizer: a Hugging Face tokenizer.
        enough: tokens to see before warning that many of them are unknown; more where a call has few texts.
    """

    def __init__(self, tokenizer: Any, *, enough: int = 1) -> None:
        self.dtype = np.dtype(np.uint16 if len(tokenizer) <= 1 << 16 else np.uint32)
        self._tokenizer = tokenizer
        self.count = UnknownCount(tokenizer, enough=enough)
        self._fast = plain_copy(tokenizer)
        self._words: dict[str, bytes] | None = {"": b""} if _splits_at_spaces(self._fast) else None
        self._marks = "" if self._words is None else _free_marks(self._fast)
        self._fence = _fence(self._fast) if self._words is not None else None

    def __call__(self, texts: list[str]) -> list[bytes]:
        """Return the ids of each text, as the bytes of an array of `dtype`."""
        rows = self._encode(texts) if self._words is None else self._by_words(texts, self._words)
        self.count.add(np.frombuffer(b"".join(rows), dtype=self.dtype), texts)
        return rows

    def _encode(self, texts: list[str]) -> list[bytes]:
        if self._fast is None:
            found = [self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] for text in texts]
        else:
            try:
                found = [each.ids for each in self._fast.encode_batch_fast(texts, add_special_tokens=False)]
            except TypeError:
                check_whole(texts)
                raise
        return [np.array(ids, dtype=self.dtype).tobytes() for ids in found]

    def _spaced(self, text: str) -> str:
        for mark in self._marks:
            if mark in text:
                text = text.replace(mark, f" {mark} ")
        return text

    def _encode_words(self, words: list[str]) -> list[bytes]:
        """Encode words with a special token between them: one text of many words is cheaper than many texts."""
        if self._fence is None:
            return self._encode(words)
        mark, number = self._fence
        size = self.dtype.itemsize
        found = []
        groups = [words[start : start + _WORDS_AT_ONCE] for start in range(0, len(words), _WORDS_AT_ONCE)]
        for group, row in zip(groups, self._encode([mark.join(group) for group in groups]), strict=True):
            marks = np.flatnonzero(np.frombuffer(row, dtype=self.dtype) == number).tolist()
            if len(marks) != len(group) - 1:  # a word holds the special token itself
                found += self._encode(group)
                continue
            places = [-1, *marks, len(row) // size]
            found += [row[(start + 1) * size : stop * size] for start, stop in itertools.pairwise(places)]
        return found

    def _by_words(self, texts: list[str], words: dict[str, bytes]) -> list[bytes]:
        pieces = [self._spaced(text).split(" ") for text in texts]
        new = list(set().union(*pieces).difference(words))
        words.update(zip(new, self._encode_words(new), strict=True))
        rows = [b"".join([words[word] for word in row]) for row in pieces]
        room = _CACHED_WORDS - (len(words) - len(new))
        for place, word in enumerate(new):
            if place >= room or len(word) > _LONGEST_CACHED:
                del words[word]
        return rows


def check_whole(texts: Iterable[str]) -> None:
    """Raise a DataError where a text holds half a character, which no tokenizer takes."""
    for text in texts:
        half = next((sign for sign in text if "\ud800" <= sign <= "\udfff"), None)
        if half is not None:
            raise DataError(f"A text holds {half!r}, which is not UTF-8. Convert it, for example with iconv.")


def plain_copy(tokenizer: Any) -> Any | None:
    """Return a copy of the fast tokenizer inside, without padding and cuts; None where there is none."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return None
    own = type(backend).from_str(backend.to_str())
    own.no_padding()
    own.no_truncation()
    return own


def _splits_at_spaces(fast: Any | None) -> bool:
    """Say whether tokenizing a text is tokenizing what stands between its spaces."""
    if fast is None or type(fast.pre_tokenizer).__name__ != "BertPreTokenizer":
        return False
    if type(fast.normalizer).__name__ not in ("BertNormalizer", "NoneType"):
        return False
    return not any(" " in token.content for token in fast.get_added_tokens_decoder().values())


def _free_marks(fast: Any) -> str:
    """Return the punctuation that may be set apart from its word, as the tokenizer will do anyway."""
    taken = "".join(token.content for token in fast.get_added_tokens_decoder().values())
    return "".join(mark for mark in _MARKS if mark not in taken)


def _fence(fast: Any) -> tuple[str, int] | None:
    """Return a special token that is cut out before anything else happens to a text, and its id."""
    for number, token in fast.get_added_tokens_decoder().items():
        if token.special and not token.normalized and not token.single_word:
            return token.content, number
    return None
