"""Crop: a sentence without its ends.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Table 1, "Crop k %": "keep
    100 - k % of the length"

    x' = w_s, ..., w_(s + m - 1),  m = ceil((1 - rate) * words),  s uniform
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.errors import between
from mirrormask.data.text.words import word_edges
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def crop_words(ids: Ids, starts: NDArray[np.bool_], *, rate: float, rng: np.random.Generator) -> Ids:
    """Return a span of whole words, a share `rate` of them left out.

    Args:
        ids: token ids of a text, without its frame.
        starts: for every id of the vocabulary, whether it begins a word.
        rate: share of words that go.
        rng: where the span comes from.
    """
    if len(ids) == 0:
        return ids
    edges = word_edges(ids, starts)
    words = len(edges) - 1
    kept = math.ceil((1 - rate) * words)
    first = int(rng.integers(words - kept, endpoint=True))
    return ids[edges[first] : edges[first + kept]]


@views.register("crop")
class Crop(View):
    """Keep a random span of the words.

    Args:
        rate: share of the words that is cut off (Table 1 tries 0.1, 0.2 and 0.3; 0.1 is best).

    Relations: the pairing `crops` draws two spans of a paragraph; `word-deletion` takes words from everywhere.

    Example:
        >>> Crop().rate
        0.1
    """

    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="crop")

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return cropped rows; special tokens and prompts stay."""
        return rewrite_texts(
            rows, vocabulary, lambda ids: crop_words(ids, vocabulary.word_starts, rate=self.rate, rng=rng)
        )
