"""What a masked language model would put in a place: the candidates of BAE.

Paper: Garg and Ramakrishnan 2020, "BAE: BERT-based Adversarial Examples for Text Classification", Algorithm 1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from mirrormask.attack.edited_text import REPLACE, EditedText, in_case_of
from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import at_least, one_of
from mirrormask.core.framing import frame_of
from mirrormask.models.masked_lm import MaskedLM

CANDIDATES = 50
"""K: "we use K = 50 for the top-K predictions" (Section 3)."""

COUNTED = ("tokens", "words")
"""Whether K counts the likeliest tokens before those that are no words are left out, as in Algorithm 1, or after."""

_CONTEXT = 256  # tokens around a mask that the model reads
_AT_ONCE = 4096  # masks whose scores over the vocabulary are held


@dataclass(frozen=True)
class Slot:
    """A place for a new word.

    Args:
        text: as it stands.
        kind: of the edit.
        place: the word of the original that it is about.
    """

    text: EditedText
    kind: str
    place: int

    @property
    def word(self) -> str:
        """Return the word of the original at the place."""
        return self.text.cut.words[self.place]

    @cached_property
    def sides(self) -> tuple[str, str]:
        """Return what stands before and behind the new word."""
        return self.text.slot(self.kind, self.place)


class Proposer(Protocol):
    """Where candidates come from."""

    def __call__(self, slots: Sequence[Slot]) -> list[list[str]]:
        """Return the words that could stand in each slot, likelier ones first."""


class MaskedProposer:
    """The likeliest words of a masked language model, many masks at a time and the LM head only there.

    Args:
        lm: the model.
        candidates: K.
        counted: what K counts.
    """

    def __init__(self, lm: MaskedLM, *, candidates: int = CANDIDATES, counted: str = "tokens") -> None:
        self.lm = lm
        self.candidates = int(at_least("candidates", candidates, 1, of="an attack"))
        self._words = whole_words(lm.tokenizer)
        self._vocabulary = lm.tokenizer.convert_ids_to_tokens(list(range(len(self._words))))
        self._only_words = one_of("counted", counted, COUNTED, of="an attack") == "words"
        self._encode, self._frame = Encoder(lm.tokenizer, enough=1000), frame_of(lm.tokenizer)
        longest = int(getattr(lm.model.config, "max_position_embeddings", 512) or 512)
        self._context = min(_CONTEXT, longest, lm.tokenizer.model_max_length) - len(self._frame)

    def __call__(self, slots: Sequence[Slot]) -> list[list[str]]:
        """Return the candidates of each slot; the word that stands there, and one that stands beside, is none."""
        rows, places = self._rows(slots)
        best: list[NDArray[np.int64]] = []
        for start in range(0, len(rows), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            best += list(self._best(Tokens.of(rows[part]), places[part]))
        return [self._written(slot, ids) for slot, ids in zip(slots, best, strict=True)]

    def _written(self, slot: Slot, ids: NDArray[np.int64]) -> list[str]:
        bare = (self._vocabulary[number].lstrip("Ġ▁") for number in ids.tolist() if self._words[number])
        if slot.kind != REPLACE:
            return [word for word in bare if word.lower() != slot.text.pieces[slot.place].lower()]
        model = slot.word
        return [word for word in (in_case_of(each, model) for each in bare) if word.lower() != model.lower()]

    def _rows(self, slots: Sequence[Slot]) -> tuple[list[Ids], list[NDArray[np.int64]]]:
        """Return the token rows with a mask in each slot, cut around it, and where the mask is."""
        sides = [side for slot in slots for side in slot.sides]
        ids = [np.frombuffer(row, dtype=self._encode.dtype).astype(np.int64) for row in self._encode(sides)]
        mask = np.array([self.lm.tokenizer.mask_token_id], dtype=np.int64)
        rows, places = [], []
        for left, right in zip(ids[::2], ids[1::2], strict=True):
            half = self._context // 2
            kept_right = right[: max(half, self._context - 1 - len(left))]
            kept_left = left[max(0, len(left) - (self._context - 1 - len(kept_right))) :]
            rows.append(
                self._frame.around(np.concatenate([kept_left, mask, kept_right]), len(self._frame) + self._context)
            )
            places.append(np.array([len(self._frame.prefix) + len(kept_left)], dtype=np.int64))
        return rows, places

    @torch.inference_mode()
    def _best(self, tokens: Tokens, places: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
        scores = self.lm.logits(tokens, places)
        if self._only_words:
            known = torch.from_numpy(self._words).to(scores.device)
            scores[:, : len(known)].masked_fill_(~known, -torch.inf)
        scores = scores[:, : len(self._words)]
        found: NDArray[np.int64] = scores.topk(min(self.candidates, scores.shape[1])).indices.cpu().numpy()
        return found


def whole_words(tokenizer: Any) -> NDArray[np.bool_]:
    """Say of each token whether it is a word of letters by itself, and not the continuation of one.

    A tokenizer that marks beginnings (Ġ or ▁) has words only among those that it marks.
    """
    vocabulary: dict[str, int] = tokenizer.get_vocab()
    special = set(tokenizer.all_special_tokens)
    marks = any(token[:1] in "Ġ▁" and token[1:].isalpha() for token in vocabulary)
    out = np.zeros(max(vocabulary.values()) + 1, dtype=np.bool_)
    for token, number in vocabulary.items():
        bare = token.lstrip("Ġ▁")
        word = bare.isalpha() and (len(bare) > 1 or bare.lower() in ("a", "i"))
        out[number] = word and token not in special and (not marks or bare != token)
    return out
