"""A text with what someone might type who looks for it: a passage taken out of it, or a few of its telling words.

Paper: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering", Section 4
    (the inverse cloze task: a sentence finds the text it was taken out of)
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least, between
from mirrormask.core.seeding import derive, integers, uniforms
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.pairs.crops import TwoOfEach, spans
from mirrormask.data.pairs.keywords import draw_words, rarest_pieces, rarity
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized
from mirrormask.data.text.words import Words, ranges

_WINDOW = 40  # words of a text that stand near each other: keywords come from one such place
_FEWEST = 4  # words of a text that is still one when a passage is taken out of it


@pairings.register("lookups")
class Lookups(Pairing):
    """Pair a whole text with a few of its telling words, or what is left of it with a passage taken out.

    Args:
        keywords: share of the pairs that are telling words.
        max_keywords: most of them; two at least.
        min_words: fewest words of a passage, as far as half of the text has so many.
        max_words: most words of a passage.

    Relations: `keywords` pairs telling words with a short passage, not with the whole text.
    """

    def __init__(self, keywords: float = 0.5, max_keywords: int = 6, min_words: int = 4, max_words: int = 20) -> None:
        self.keywords = between("keywords", keywords, 0, 1 + 1e-9, of="lookups")
        self.max_keywords = at_least("max_keywords", max_keywords, 2, of="lookups")
        self.min_words = at_least("min_words", min_words, 1, of="lookups")
        self.max_words = at_least("max_words", max_words, min_words, of="lookups")

    def draw(self, texts: Words, rows: Rows, seed: int, weights: NDArray[np.float64]) -> tuple[list[Ids], list[Ids]]:
        """Return what is typed, and the texts to find.

        Args:
            texts: the words of the texts.
            rows: the number of each, which its draws depend on.
            seed: of this epoch.
            weights: for every id of the vocabulary, its rarity.
        """
        seed, words = derive(seed, "lookups"), texts.counts
        chance = uniforms(seed, rows[:, None], np.arange(4))
        half = np.maximum(1, words // 2)
        length = integers(np.minimum(self.min_words, half), np.minimum(self.max_words, half), chance[:, 1])
        begin = integers(0, np.maximum(0, words - length), chance[:, 2])
        asked = np.stack([begin, np.minimum(begin + length, words)], axis=1)
        telling = chance[:, 0] < self.keywords
        asked[telling] = spans(words[telling], _WINDOW, _WINDOW, chance[telling, 1:3])
        counts = np.where(telling, integers(2, self.max_keywords, chance[:, 3]), words)
        first, end = (texts.first[:-1, None] + asked).T
        numbers, owner = ranges(first, end), np.repeat(np.arange(len(rows)), end - first)
        each = uniforms(derive(seed, "words"), rows[owner], numbers - texts.first[owner])
        drawn = draw_words(rarest_pieces(texts, weights)[numbers], owner, counts, each)
        typed = texts.chosen(numbers[drawn], np.bincount(owner[drawn], minlength=len(rows)))
        out = ~telling & (words >= _FEWEST)  # of these the passage is taken out
        kept = np.ones(texts.first[-1], dtype=np.bool_)
        kept[ranges(first[out], end[out])] = False
        whole = np.repeat(np.arange(len(rows)), words)
        return typed, texts.chosen(np.flatnonzero(kept), np.bincount(whole[kept], minlength=len(rows)))

    def max_tokens_needed(self, room: int) -> int:
        """Return more than fits into the model: what is typed may come from behind it, or leave room for more."""
        return 2 * room

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with two columns."""
        one_column(corpus, "lookups")
        return TwoOfEach(tokens, partial(self.draw, weights=rarity(tokens)))
