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
from mirrormask.core.seeding import generator
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

_PARAGRAPH = 512  # tokens of a paragraph that crops are drawn from, at least


def two_crops(
    ids: Ids, starts: NDArray[np.bool_], *, min_words: int, max_words: int, chance: np.random.Generator
) -> tuple[Ids, Ids]:
    """Return two different spans of whole words, or the whole text twice where it has no two.

    Args:
        ids: token ids of the text.
        starts: for every id of the vocabulary, whether it begins a word.
        min_words, max_words: bounds of the words in a span, both included.
        chance: where the spans come from.
    """
    edges = word_edges(ids, starts)
    words = len(edges) - 1
    if words <= min_words:
        return ids, ids
    first = span(words, min_words, max_words, chance)
    second = first
    while second == first:
        second = span(words, min_words, max_words, chance)
    return ids[edges[first[0]] : edges[first[1]]], ids[edges[second[0]] : edges[second[1]]]


def word_edges(ids: Ids, starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return where each word of a text begins, and the end of the last one."""
    begins = np.flatnonzero(starts[ids])
    if len(begins) == 0 or begins[0] != 0:
        begins = np.concatenate([[0], begins])  # the first token begins a word, marked or not
    return np.append(begins, len(ids))


def span(words: int, min_words: int, max_words: int, chance: np.random.Generator) -> tuple[int, int]:
    """Return first word and end of a random span, as long as asked where there are so many words."""
    length = int(chance.integers(min(min_words, words), min(max_words, words), endpoint=True))
    start = int(chance.integers(words - length, endpoint=True))
    return start, start + length


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
        return TwoOfEach(tokens, self._draw, "crops")

    def _draw(self, ids: Ids, starts: NDArray[np.bool_], chance: np.random.Generator) -> tuple[Ids, Ids]:
        return two_crops(ids, starts, min_words=self.min_words, max_words=self.max_words, chance=chance)


class TwoOfEach(Examples):
    """Rows of which two parts are drawn whenever they are asked for.

    Args:
        tokens: the rows.
        draw: returns the two parts of a row's ids, by where words begin and by chance.
        purpose: names the random choices.
    """

    def __init__(
        self,
        tokens: Tokenized,
        draw: Callable[[Ids, NDArray[np.bool_], np.random.Generator], tuple[Ids, Ids]],
        purpose: str,
    ) -> None:
        self._tokens = tokens
        self._draw = draw
        self._purpose = purpose

    def __len__(self) -> int:
        return len(self._tokens)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the first part of each text, and the second."""
        rows = examples.tolist()
        pairs = [
            self._draw(ids, self._tokens.starts, generator(seed, self._purpose, row))
            for row, ids in zip(rows, self._tokens.take(rows), strict=True)
        ]
        return [first for first, _ in pairs], [second for _, second in pairs]
