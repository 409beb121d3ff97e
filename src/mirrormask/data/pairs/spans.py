"""Two spans of one paragraph, a longer one as the anchor and a shorter one near it as the positive.

Paper: Giorgi et al. 2021, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations", Section 3.1

    length of the anchor   = floor(x * (most - least) + least),  x ~ Beta(4, 2)
    length of the positive = floor(x * (most - least) + least),  x ~ Beta(2, 4)
    the positive begins from one length of its own before the anchor to the anchor's end: it overlaps the anchor, lies
    inside it, or stands next to it

Lengths are in words here, in tokens in the paper, whose documents of 2,048 tokens take spans of 32 to 512.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.core.seeding import derive, integers, uniforms
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.pairs.crops import TwoOfEach
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import Words

_PARAGRAPH = 512  # tokens of a paragraph that spans are drawn from, at least
ANCHOR, POSITIVE = (4, 2), (2, 4)
"""The Beta distributions of the two lengths."""

DRAWS = 12
"""Uniform draws that one pair takes: five for each length, one for each place."""


def beta(shape: tuple[int, int], chance: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return draws of Beta(a, b), a and b whole (n,): the a-th smallest of a + b - 1 uniform draws (n, a + b - 1)."""
    return np.sort(chance, axis=1)[:, shape[0] - 1]


def two_spans(words: Rows, min_words: int, max_words: int, chance: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Return first word and end of the anchor's span and of the positive's, for each text (n, 2).

    Args:
        words: in each text (n,).
        min_words, max_words: bounds of a span, as far as the text has so many words.
        chance: uniform draws (n, DRAWS).
    """
    most = np.minimum(max_words, words)
    least = np.minimum(min_words, most)
    long = (beta(ANCHOR, chance[:, :5]) * (most - least) + least).astype(np.int64)
    short = (beta(POSITIVE, chance[:, 5:10]) * (most - least) + least).astype(np.int64)
    start = integers(0, words - long, chance[:, 10])
    first = integers(np.maximum(0, start - short), np.minimum(words - short, start + long), chance[:, 11])
    return np.stack([start, start + long], axis=1), np.stack([first, first + short], axis=1)


@pairings.register("spans")
class Spans(Pairing):
    """A long span of a text and a short one near it. Relations: `crops` draws two spans alike, anywhere in the text."""

    def __init__(self, min_words: int = 5, max_words: int = 25) -> None:
        self.min_words = at_least("min_words", min_words, 1, of="spans")
        self.max_words = at_least("max_words", max_words, min_words, of="spans")

    def max_tokens_needed(self, room: int) -> int:
        """Return more than fits into the model: a span may come from far into the paragraph."""
        return max(_PARAGRAPH, 4 * room)

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with two columns."""
        one_column(corpus, "spans")
        return TwoOfEach(tokens, self._draw)

    def _draw(self, texts: Words, rows: Rows, seed: int) -> tuple[list[Ids], list[Ids]]:
        chance = uniforms(derive(seed, "spans"), rows[:, None], np.arange(DRAWS))
        anchors, positives = two_spans(texts.counts, self.min_words, self.max_words, chance)
        return texts.spans(anchors), texts.spans(positives)
