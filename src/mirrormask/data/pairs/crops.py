"""Two crops of one paragraph: spans of the same text, drawn anew in every epoch.

Paper: Giorgi et al. 2021, "DeCLUTR: Deep Contrastive Learning for Unsupervised Textual Representations", Section 3.1,
    with both spans drawn alike.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.core.seeding import derive, integers, uniforms
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import Words

_PARAGRAPH = 512  # tokens of a paragraph that crops are drawn from, at least


def spans(words: Rows, min_words: int, max_words: int, chance: NDArray[np.float64]) -> Rows:
    """Return first word and end of a random span of each text (n, 2), as long as asked where there are so many words.

    Args:
        words: in each text (n,).
        min_words, max_words: bounds of the words in a span, both included.
        chance: uniform draws (n, 2): the length, then the place.
    """
    length = integers(np.minimum(min_words, words), np.minimum(max_words, words), chance[:, 0])
    start = integers(0, words - length, chance[:, 1])
    return np.stack([start, start + length], axis=1)


def two_crops(words: Rows, *, min_words: int, max_words: int, rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """Return two different spans of each text (n, 2), or the whole text twice where it has no two.

    Args:
        words: in each text (n,).
        min_words, max_words: bounds of the words in a span, both included.
        rows: number of each text (n,).
        seed: where the spans come from, with the number of the text.
    """

    def drawn(some: Rows, turn: int) -> Rows:
        chance = uniforms(seed, rows[some, None], np.arange(2 * turn, 2 * turn + 2))
        return spans(words[some], min_words, max_words, chance)

    first = drawn(np.arange(len(rows)), 0)
    second, turn = first.copy(), 0
    while len(same := np.flatnonzero((first == second).all(axis=1) & (words > min_words))):
        turn += 1
        second[same] = drawn(same, turn)
    return first, second


@pairings.register("crops")
class Crops(Pairing):
    """Two random spans of each text. Relations: `next-sentence` pairs whole sentences; `self` one text with itself."""

    def __init__(self, min_words: int = 8, max_words: int = 25) -> None:
        self.min_words = at_least("min_words", min_words, 1, of="crops")
        self.max_words = at_least("max_words", max_words, min_words, of="crops")

    def max_tokens_needed(self, room: int) -> int:
        """Return more than fits into the model: a crop may come from far into the paragraph."""
        return max(_PARAGRAPH, 4 * room)

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with two columns."""
        one_column(corpus, "crops")
        return TwoOfEach(tokens, self._draw)

    def _draw(self, texts: Words, rows: Rows, seed: int) -> tuple[list[Ids], list[Ids]]:
        seed = derive(seed, "crops")
        first, second = two_crops(
            texts.counts, min_words=self.min_words, max_words=self.max_words, rows=rows, seed=seed
        )
        return texts.spans(first), texts.spans(second)


class TwoOfEach(Examples):
    """Rows of which two parts are drawn whenever they are asked for.

    Args:
        tokens: the rows.
        draw: returns the first parts and the second parts of texts, by the words of the texts, the numbers of their
            rows and the seed.
    """

    def __init__(self, tokens: Tokenized, draw: Callable[[Words, Rows, int], tuple[list[Ids], list[Ids]]]) -> None:
        self._tokens = tokens
        self._draw = draw

    def __len__(self) -> int:
        return len(self._tokens)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the first part of each text, and the second."""
        return self._draw(Words.of(self._tokens.take(examples.tolist()), self._tokens.starts), examples, seed)
