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
from mirrormask.data.pairs import Examples, Pairing, one_column, pairings
from mirrormask.data.pairs.crops import TwoOfEach, word_edges
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

_PARAGRAPH = 512  # tokens of a paragraph that spans are drawn from, at least
ANCHOR, POSITIVE = (4.0, 2.0), (2.0, 4.0)
"""The Beta distributions of the two lengths."""


def two_spans(
    words: int, min_words: int, max_words: int, chance: np.random.Generator
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return first word and end of the anchor's span and of the positive's.

    Args:
        words: in the text.
        min_words, max_words: bounds of a span, as far as the text has so many words.
        chance: where the spans come from.
    """
    most = min(max_words, words)
    least = min(min_words, most)

    def length(shape: tuple[float, float]) -> int:
        return int(chance.beta(*shape) * (most - least) + least)

    long, short = length(ANCHOR), length(POSITIVE)
    start = int(chance.integers(words - long, endpoint=True))
    first = int(chance.integers(max(0, start - short), min(words - short, start + long), endpoint=True))
    return (start, start + long), (first, first + short)


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
        return TwoOfEach(tokens, self._draw, "spans")

    def _draw(self, ids: Ids, starts: NDArray[np.bool_], chance: np.random.Generator) -> tuple[Ids, Ids]:
        if not len(ids):
            return ids, ids
        edges = word_edges(ids, starts)
        (a, b), (c, d) = two_spans(len(edges) - 1, self.min_words, self.max_words, chance)
        return ids[edges[a] : edges[b]], ids[edges[c] : edges[d]]
