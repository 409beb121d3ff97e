"""Synonyms: a sentence with some of its words replaced by others that mean about the same.

Paper: Wei and Zou 2019, "EDA: Easy Data Augmentation Techniques for Boosting Performance on Text Classification Tasks"
    (synonym replacement); Suresh and Ong 2021, "Not All Negatives are Equal", doubles its batches with it

Synonyms come from a lexicon, as `data/text/lexicon_words` reads it. Without one the model itself says what is near:
the words whose input embeddings are closest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import between
from mirrormask.data.text.lexicon_words import read_synonyms
from mirrormask.data.text.words import word_edges
from mirrormask.models.embeddings import word_table
from mirrormask.views import View, Vocabulary, rewrite_texts, views

NEAREST = 5
"""Words of the model itself that may stand for another."""


def nearest_ids(table: Tensor, number: int, allowed: Tensor, count: int = NEAREST) -> list[int]:
    """Return the ids whose rows of a table of embeddings lie closest to one of them, by cosine, itself left out.

    Args:
        table: of embeddings, rows of length 1 (vocabulary, d).
        number: the id.
        allowed: which ids may be returned (vocabulary,).
        count: how many.
    """
    near = table @ table[number]
    near = near.masked_fill(~allowed, -torch.inf)
    near[number] = -torch.inf
    found = near.topk(min(count, len(near)))
    return [place for place, value in zip(found.indices.tolist(), found.values.tolist(), strict=True) if value > 0]


@views.register("synonyms")
class Synonyms(View):
    """Replace some words by others that mean about the same.

    Args:
        lexicon: a file of synonyms; empty takes the words that the model itself has closest.
        rate: chance of a word to be replaced, where it has a synonym.

    Relations: `mlm-replacement` asks the masked language model what fits into the sentence, which may mean the
        opposite; `word-deletion` leaves words out.

    Example:
        >>> Synonyms(rate=0.2).rate
        0.2
    """

    def __init__(self, lexicon: str = "", rate: float = 0.15) -> None:
        super().__init__()
        self.lexicon = lexicon
        self.rate = between("rate", rate, 0, 1, of="synonyms")
        self._known: dict[bytes, list[Ids]] = {}
        self._table: Tensor | None = None
        self._allowed: Tensor | None = None

    def attach(self, encoder: Any, head: nn.Module | None) -> None:
        """Read the lexicon as the encoder's tokens, or keep the encoder's own words as they are at the start."""
        self._known = {}
        if self.lexicon:
            synonyms = read_synonyms(self.lexicon)
            words = list(dict.fromkeys([*synonyms, *(other for each in synonyms.values() for other in each)]))
            bare = Encoder(encoder.tokenizer, enough=1 << 62)
            rows = [np.frombuffer(row, dtype=bare.dtype).astype(np.int64) for row in bare(words)]
            ids = dict(zip(words, rows, strict=True))
            unknown = encoder.tokenizer.unk_token_id
            ids = {word: row for word, row in ids.items() if len(row) and unknown not in row}
            for word, others in synonyms.items():
                found: list[Ids] = [ids[other] for other in others if other in ids]
                if word in ids and found:
                    self._known[ids[word].tobytes()] = found
            return
        table = word_table(encoder).weight.detach().float().cpu()
        self._table = nn.functional.normalize(table, dim=-1)
        self._allowed = None

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with words replaced; special tokens and prompts stay."""
        return rewrite_texts(rows, vocabulary, lambda ids: self._replaced(ids, rng, vocabulary))

    def _replaced(self, ids: Ids, rng: np.random.Generator, vocabulary: Vocabulary) -> Ids:
        if len(ids) == 0:
            return ids
        words = np.split(ids, word_edges(ids, vocabulary.word_starts)[1:-1])
        for place, word in enumerate(words):
            if rng.random() < self.rate:
                others = self._others(word.astype(np.int64), vocabulary)
                if others:
                    words[place] = others[int(rng.integers(len(others)))].astype(ids.dtype)
        return np.concatenate(words)

    def _others(self, word: Ids, vocabulary: Vocabulary) -> list[Ids]:
        key = word.tobytes()
        if key in self._known or self._table is None:
            return self._known.get(key, [])
        found: list[Ids] = []
        if len(word) == 1:
            if self._allowed is None:
                allowed = torch.from_numpy(vocabulary.word_starts[: len(self._table)].copy())
                allowed = nn.functional.pad(allowed, (0, len(self._table) - len(allowed)))
                allowed[sorted(vocabulary.special_ids)] = False
                self._allowed = allowed
            number = int(word[0])
            near = nearest_ids(self._table, number, self._allowed) if self._allowed[number] else []
            found = [np.array([other], dtype=np.int64) for other in near]
        self._known[key] = found
        return found
