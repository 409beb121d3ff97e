"""Tokens that a tokenizer has no piece for: a model takes them all for the same, so a foreign language says nothing.

They are counted where texts become ids, so every command that reads text with a model warns.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskWarning

MANY = 0.1
"""The share of unknown tokens above which a text is not what the tokenizer was made for."""

CHINESE_MODEL = "mini-zh"

_SAMPLE = 20_000  # characters that are looked at to tell a language
_HAN, _KANA = re.compile("[\u4e00-\u9fff]"), re.compile("[\u3040-\u30ff]")

_told: WeakSet[Any] = WeakSet()


class UnknownTokens(MirrormaskWarning):
    """Much of a text is unknown to the tokenizer."""


@dataclass(frozen=True, eq=False)
class BareTokenizer:
    """What has to be known of a tokenizer that was opened without the library around it.

    Args:
        unk_token_id: the id of what it does not know, if it has one.
        name_or_path: where it is from.
    """

    unk_token_id: int | None
    name_or_path: str


class UnknownCount:
    """Counts unknown tokens and warns once for each tokenizer.

    Args:
        tokenizer: a Hugging Face tokenizer, or a bare one; without an unknown token it knows everything.
        enough: tokens to see before judging.
    """

    def __init__(self, tokenizer: Any, *, enough: int = 1) -> None:
        self.tokens = self.unknown = 0
        self._tokenizer, self._enough = tokenizer, enough
        self._id = getattr(tokenizer, "unk_token_id", None)

    def add(self, ids: NDArray[np.integer[Any]], texts: Sequence[str]) -> None:
        """Count the ids of some texts."""
        if self._id is None:
            return
        self.tokens += len(ids)
        self.unknown += int(np.count_nonzero(ids == self._id))
        if self.unknown > MANY * self.tokens and self.tokens >= self._enough and self._tokenizer not in _told:
            _told.add(self._tokenizer)
            warnings.warn(UnknownTokens(self._sentence("".join(texts)[:_SAMPLE])), stacklevel=3)

    def _sentence(self, text: str) -> str:
        folder = Path(str(getattr(self._tokenizer, "name_or_path", "")))
        name = folder.parent.name if folder.name == "model" else folder.name
        way_out = "Name a model that reads this text, or train one with a tokenizer of its own: mirrormask pretrain."
        if name != CHINESE_MODEL and _is_chinese(text):
            way_out = f"The text is Chinese, so take a model that reads it, such as {CHINESE_MODEL}."
        whose = f"the tokenizer of {name}" if name else "the tokenizer"
        return (
            f"{self.unknown / self.tokens:.0%} of the tokens are unknown to {whose}, and a model takes all of these "
            f"for the same. {way_out}"
        )


def _is_chinese(text: str) -> bool:
    return 5 * len(_HAN.findall(text)) >= len(text) and not _KANA.search(text)
