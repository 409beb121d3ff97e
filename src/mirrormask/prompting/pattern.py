"""A template for one tokenizer: texts become rows of tokens whose masks and words around them are never cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Frame, Ids, Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import DataError, MirrormaskError, at_least
from mirrormask.core.framing import frame_of
from mirrormask.prompting.template import Part, Template, put_in

MAX_LENGTH = 256
"""Tokens of a row, unless the model takes fewer (PET's)."""

Places = NDArray[np.int64]

_opened: WeakKeyDictionary[Any, tuple[Encoder, Frame]] = WeakKeyDictionary()
"""What patterns of one tokenizer share: the words that were tokenized once, and the special tokens around a text."""


@dataclass(frozen=True)
class Prompted:
    """Rows with a cloze question each.

    Args:
        tokens: the rows, special tokens included; a soft token has the mask's id.
        masks: positions of each row's masks.
        soft: positions of each row's soft tokens, in the order of the template.
    """

    tokens: Tokens
    masks: tuple[Places, ...] = field(repr=False)
    soft: tuple[Places, ...] = field(repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    def take(self, rows: Sequence[int] | Places) -> Prompted:
        """Return some of the rows."""
        return Prompted(
            Tokens.of([self.tokens.rows[i] for i in rows]),
            tuple(self.masks[i] for i in rows),
            tuple(self.soft[i] for i in rows),
        )

    @classmethod
    def joined(cls, parts: Sequence[Prompted]) -> Prompted:
        """Return the rows of several one after another, so that one forward answers them all."""
        return cls(
            Tokens(tuple(row for part in parts for row in part.tokens.rows)),
            tuple(places for part in parts for places in part.masks),
            tuple(places for part in parts for places in part.soft),
        )


class Pattern:
    """A template whose words are tokens.

    Args:
        template: the cloze question.
        tokenizer: a Hugging Face tokenizer with a mask.
        max_length: tokens of a row, special tokens included.
    """

    def __init__(self, template: Template | str, tokenizer: Any, max_length: int = MAX_LENGTH) -> None:
        self.template = Template(template) if isinstance(template, str) else template
        self.tokenizer, self.max_length = tokenizer, int(at_least("max_length", max_length, 3, of="a pattern"))
        if tokenizer not in _opened:
            _opened[tokenizer] = Encoder(tokenizer), frame_of(tokenizer)
        self._encoder, self._frame = _opened[tokenizer]
        self._fixed = {i: self._words(part) for i, part in enumerate(self.template.parts)}

    def rows(self, fields: Sequence[Mapping[str, str]], masks: int | Sequence[int] | None = None) -> Prompted:
        """Return a row for each text with its fields.

        Args:
            fields: the texts of the template's fields, by name.
            masks: how many masks each row has; by default the template's own number.

        Raises:
            MirrormaskError: there is no room for the mask and the words around it.
        """
        counts = [self.template.masks or 1] * len(fields) if masks is None else masks
        counts = [counts] * len(fields) if isinstance(counts, int) else counts
        texts = self._texts(fields)
        rows, places, soft = [], [], []
        for number, count in enumerate(counts):
            row, where, learned = self._row(number, count, {place: ids[number] for place, ids in texts.items()})
            rows.append(row)
            places.append(where)
            soft.append(learned)
        return Prompted(Tokens.of(rows), tuple(places), tuple(soft))

    def _texts(self, fields: Sequence[Mapping[str, str]]) -> dict[int, list[Ids]]:
        """Return the ids of every field's texts, by the number of its part."""
        found = {}
        for place, part in enumerate(self.template.parts):
            if part.kind != "field":
                continue
            texts = []
            for number, row in enumerate(fields, 1):
                if part.text not in row:
                    raise DataError(
                        f"Row {number} has no {part.text!r}, which the template {self.template.text!r} asks for. "
                        f"There is: {', '.join(row)}."
                    )
                texts.append(" " * part.spaced + put_in(row[part.text], part.ways))
            found[place] = [np.frombuffer(each, dtype=self._encoder.dtype) for each in self._encoder(texts)]
        return found

    def _row(self, number: int, masks: int, texts: Mapping[int, Ids]) -> tuple[Ids, Places, Places]:
        parts = self.template.parts
        whole = sum(len(ids) for place, ids in texts.items() if "whole" in parts[place].ways)
        fixed = len(self._frame) + sum(map(len, self._fixed.values())) + masks + self.template.soft + whole
        room = self.max_length - fixed
        if room < 0:
            longest = f", {whole} of them in fields that may not be cut" if whole else ""
            raise MirrormaskError(
                f"Row {number + 1} leaves no room for the mask: the template {self.template.text!r} needs {fixed} "
                f"tokens{longest}, and a row has {self.max_length}. Shorten it, or raise --max-length."
            )
        cut = [place for place in texts if "whole" not in parts[place].ways]
        kept = dict(zip(cut, shares([len(texts[place]) for place in cut], room), strict=True))
        row: list[Ids] = [self._frame.prefix]
        where: list[int] = []
        soft: list[int] = []
        length = len(self._frame.prefix)
        for place, part in enumerate(parts):
            if part.kind == "field":
                piece = texts[place][: kept.get(place)]
            elif part.kind in ("mask", "soft"):
                count = masks if part.kind == "mask" else part.count
                piece = np.full(count, self.tokenizer.mask_token_id, dtype=np.int64)
                (where if part.kind == "mask" else soft).extend(range(length, length + count))
            else:
                piece = self._fixed[place]
            row.append(piece)
            length += len(piece)
        ids = np.concatenate([*row, self._frame.suffix]).astype(np.int64)
        return ids, np.asarray(where, dtype=np.int64), np.asarray(soft, dtype=np.int64)

    def _words(self, part: Part) -> Ids:
        """Return the ids of words of the template itself, and of its separators."""
        if part.kind == "separator":
            separator = self.tokenizer.sep_token_id
            return np.asarray([] if separator is None else [separator], dtype=np.int64)
        words = part.kind == "words"
        found = self.tokenizer(" " * part.spaced + part.text, add_special_tokens=False)["input_ids"] if words else []
        return np.asarray(found, dtype=np.int64)


def shares(lengths: Sequence[int], room: int) -> list[int]:
    """Return how much of each text is kept so that all fit: tokens are taken from the longest, one by one.

    Example:
        >>> shares([9, 3, 7], 14), shares([4, 4], 100)
        ([6, 3, 5], [4, 4])
    """
    kept = list(lengths)
    over = sum(kept) - room
    while over > 0:
        top = max(kept)
        longest = [i for i, length in enumerate(kept) if length == top]
        below = max([length for length in kept if length < top], default=0)
        step = min(top - below, max(1, over // len(longest)))
        for i in reversed(longest):
            taken = min(step, over)
            kept[i] -= taken
            over -= taken
    return kept
