"""Sentences as units: the words, spans or characters that are masked as a whole, and the sub-words of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Frame, Ids
from mirrormask.core.encoding import check_whole, plain_copy
from mirrormask.core.errors import DataError
from mirrormask.core.framing import frame_of
from mirrormask.core.unknown import UnknownCount

Places = NDArray[np.int64]


@dataclass(frozen=True)
class Units:
    """One sentence as a model reads it, cut into units.

    Args:
        ids: token ids with special tokens (length,).
        starts: position of the first token of each unit (n,).
        sizes: number of its tokens (n,); they stand side by side.
    """

    ids: Ids
    starts: Places
    sizes: Places

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def places(self) -> Places:
        """Return the positions of all units, unit after unit."""
        return spread(self.starts, self.sizes)

    def of_tokens(self) -> Units:
        """Return the same sentence with each sub-word as a unit of its own."""
        return Units(self.ids, self.places, np.ones(int(self.sizes.sum()), dtype=np.int64))

    def with_root(self) -> Units:
        """Return the sentence with its first special token as an additional first unit."""
        one = np.ones(1, dtype=np.int64)
        return Units(self.ids, np.concatenate([one - 1, self.starts]), np.concatenate([one, self.sizes]))


def spread(starts: Places, sizes: Places) -> Places:
    """Return the numbers of every range, range after range.

    Example:
        >>> spread(np.array([1, 7]), np.array([2, 3])).tolist()
        [1, 2, 7, 8, 9]
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


class UnitTokenizer:
    """Turns sentences given as units into token ids that know their unit.

    Args:
        tokenizer: a Hugging Face tokenizer.
        limit: most tokens the model reads, special tokens included.
        separator: what stands between two units.
        label: what a sentence is called in errors, such as "Line".
    """

    def __init__(self, tokenizer: Any, limit: int, *, separator: str = " ", label: str = "Sentence") -> None:
        self.limit, self.separator, self.label = limit, separator, label
        self._tokenizer = tokenizer
        self._fast = plain_copy(tokenizer)
        self._frame: Frame = frame_of(tokenizer)
        self._unknown = tokenizer.unk_token_id
        self._count = UnknownCount(tokenizer)

    def __call__(self, sentences: Sequence[Sequence[str]], first: int = 1) -> list[Units]:
        """Return the units of each sentence.

        Args:
            sentences: the units of each, in order.
            first: the number of the first sentence, for errors.

        Raises:
            DataError: a sentence is empty, has a blank unit or is longer than the model reads.
        """
        for number, sentence in enumerate(sentences, first):
            self._check(number, sentence)
        found = []
        for number, (sentence, pieces) in enumerate(zip(sentences, self._pieces(sentences), strict=True), first):
            sizes = np.array([len(piece) for piece in pieces], dtype=np.int64)
            prefix, suffix = self._frame.prefix, self._frame.suffix
            total = int(sizes.sum()) + len(self._frame)
            if total > self.limit:
                raise DataError(
                    f"{self.label} {number} has {total} tokens in {len(sentence)} units, and the model reads at most "
                    f"{self.limit}. Split or shorten it: it begins {self.separator.join(sentence)[:40]!r}."
                )
            row = np.concatenate([prefix, *(np.asarray(piece, dtype=np.int64) for piece in pieces), suffix])
            found.append(Units(row, len(prefix) + np.cumsum(sizes) - sizes, sizes))
        inside = slice(len(self._frame.prefix), -len(self._frame.suffix) or None)
        ids = np.concatenate([np.empty(0, dtype=np.int64), *(units.ids[inside] for units in found)])
        self._count.add(ids, [unit for sentence in sentences for unit in sentence])
        return found

    def _check(self, number: int, sentence: Sequence[str]) -> None:
        if isinstance(sentence, str):
            raise DataError(
                f"{self.label} {number} is a text, and a list of its words is needed. "
                f"Split it first: {sentence[:40]!r}.split()."
            )
        if not len(sentence):
            raise DataError(f"{self.label} {number} is empty, and at least one word is needed. Remove it.")
        blank = next((place for place, unit in enumerate(sentence, 1) if not unit.strip()), None)
        if blank is not None:
            raise DataError(f"Unit {blank} of {self.label.lower()} {number} is blank. Remove it.")
        check_whole(sentence)

    def _pieces(self, sentences: Sequence[Sequence[str]]) -> Iterator[list[list[int]]]:
        """Yield the token ids of every unit; one the tokenizer makes nothing of is an unknown token."""
        if self._fast is None:
            for sentence in sentences:
                ids = [self._tokenizer(unit, add_special_tokens=False)["input_ids"] for unit in sentence]
                yield [list(piece) or [self._unknown] for piece in ids]
            return
        texts = [self.separator.join(sentence) for sentence in sentences]
        for sentence, text, found in zip(
            sentences, texts, self._fast.encode_batch(texts, add_special_tokens=False), strict=True
        ):
            # a separator belongs to the unit after it, as the marks of words in byte-level and unigram models do
            sizes = [len(unit) + (len(self.separator) if place else 0) for place, unit in enumerate(sentence)]
            owner = np.repeat(np.arange(len(sentence)), sizes)
            pieces: list[list[int]] = [[] for _ in sentence]
            for number, (start, stop) in zip(found.ids, found.offsets, strict=True):
                pieces[owner[min(max(start, stop - 1), len(text) - 1)]].append(number)
            yield [piece or [self._unknown] for piece in pieces]
