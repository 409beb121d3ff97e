"""A passage of a text with a few of its telling words, as someone types who looks for it, or with another passage.

Paper: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering", Section 4
    (the inverse cloze task), with keywords in place of a sentence; passages as in Giorgi et al. 2021, "DeCLUTR".
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least, between
from mirrormask.core.seeding import derive, integers, uniforms
from mirrormask.core.spread import spread_evenly
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.pairs.crops import TwoOfEach, spans
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import Words, ranges

_LONG = 4  # times the fewest words of a passage: a shorter text is one sentence, and its halves mean different things
_SAMPLE = 20_000  # rows that token frequencies are counted on
_PARAGRAPH = 512  # tokens of a text that is drawn from, at least


def rarity(tokens: Tokenized, sample: int = _SAMPLE) -> NDArray[np.float64]:
    """Return, for every id of the vocabulary, log(rows / rows with the id) over evenly spaced rows of the corpus."""
    count = len(tokens)
    rows = spread_evenly(count, sample)
    frequency = np.zeros(len(tokens.starts), dtype=np.int64)
    for block in np.array_split(rows, max(1, len(rows) // 2_000)):
        for ids in tokens.take(block.tolist()):
            frequency[np.unique(ids)] += 1
    inverse: NDArray[np.float64] = np.log((len(rows) + 1) / (frequency + 1))
    return inverse


def rarest_pieces(texts: Words, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how rare each word of the texts is: as rare as its rarest piece, and never quite zero (w,)."""
    if len(texts.edges) == 1:
        return np.zeros(0)
    return np.maximum.reduceat(weights[texts.ids], texts.edges[:-1]) + 1e-3


def draw_words(rare: NDArray[np.float64], owner: Rows, counts: Rows, chance: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which words are drawn, without replacement, each time by how rare those left are.

    Efraimidis and Spirakis 2006, "Weighted random sampling with a reservoir": the words of the `count` smallest
    -log(u) / rarity are such a draw.

    Args:
        rare: rarity of each word (m,).
        owner: the text that each word belongs to (m,), in ascending order.
        counts: how many words each text gives, at most all (n,).
        chance: a uniform draw for each word (m,).
    """
    order = np.lexsort((-np.log1p(-chance) / rare, owner))
    sizes = np.bincount(owner, minlength=len(counts))
    place = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    drawn = np.zeros(len(owner), dtype=np.bool_)
    drawn[order[place < counts[owner]]] = True
    return drawn


def two_passages(words: Rows, min_words: int, max_words: int, chance: NDArray[np.float64]) -> tuple[Rows, Rows]:
    """Return two spans of each text (n, 2) that do not overlap, in either order.

    Args:
        words: in each text (n,), twice `min_words` at least.
        min_words, max_words: bounds of the words in a span, both included.
        chance: uniform draws (n, 6): where the text is cut, the span of each half, the order.
    """
    cut = integers(min_words, words - min_words, chance[:, 0])
    before = spans(cut, min_words, max_words, chance[:, 1:3])
    after = cut[:, None] + spans(words - cut, min_words, max_words, chance[:, 3:5])
    swapped = chance[:, 5:6] < 0.5
    return np.where(swapped, after, before), np.where(swapped, before, after)


@pairings.register("keywords")
class Keywords(Pairing):
    """Pair a passage of each text with a few of its telling words, or with another passage of the text.

    Args:
        min_keywords: fewest words that stand for a passage.
        max_keywords: most words that stand for a passage.
        min_words: fewest words of a passage.
        max_words: most words of a passage.
        passages: share of the pairs that are two passages apart, where the text has four times `min_words`.

    Relations: `crops` pairs passages that may overlap; `self` a text with itself.
    """

    def __init__(
        self,
        min_keywords: int = 2,
        max_keywords: int = 4,
        min_words: int = 6,
        max_words: int = 20,
        passages: float = 0.3,
    ) -> None:
        self.min_keywords = at_least("min_keywords", min_keywords, 1, of="keywords")
        self.max_keywords = at_least("max_keywords", max_keywords, min_keywords, of="keywords")
        self.min_words = at_least("min_words", min_words, 1, of="keywords")
        self.max_words = at_least("max_words", max_words, min_words, of="keywords")
        self.passages = between("passages", passages, 0, 1 + 1e-9, of="keywords")

    def draw(self, texts: Words, rows: Rows, seed: int, weights: NDArray[np.float64]) -> tuple[list[Ids], list[Ids]]:
        """Return anchors and positives of texts.

        Args:
            texts: the words of the texts.
            rows: the number of each, which its draws depend on.
            seed: of this epoch.
            weights: for every id of the vocabulary, its rarity.
        """
        seed, words = derive(seed, "keywords"), texts.counts
        chance = uniforms(seed, rows[:, None], np.arange(10))
        passages = spans(words, self.min_words, self.max_words, chance[:, 1:3])
        counts = integers(self.min_keywords, self.max_keywords, chance[:, 3])
        asked = passages.copy()
        apart = np.flatnonzero((chance[:, 0] < self.passages) & (words >= _LONG * self.min_words))
        asked[apart], passages[apart] = two_passages(words[apart], self.min_words, self.max_words, chance[apart, 4:])
        counts[apart] = words[apart]  # of another passage all words are taken
        begin, end = (texts.first[:-1, None] + asked).T
        numbers, owner = ranges(begin, end), np.repeat(np.arange(len(rows)), end - begin)
        each = uniforms(derive(seed, "words"), rows[owner], numbers - texts.first[owner])
        drawn = draw_words(rarest_pieces(texts, weights)[numbers], owner, counts, each)
        return texts.chosen(numbers[drawn], np.bincount(owner[drawn], minlength=len(rows))), texts.spans(passages)

    def max_tokens_needed(self, room: int) -> int:
        """Return more than fits into the model: words may come from far into the text."""
        return max(_PARAGRAPH, 4 * room)

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with two columns."""
        one_column(corpus, "keywords")
        return TwoOfEach(tokens, partial(self.draw, weights=rarity(tokens)))
