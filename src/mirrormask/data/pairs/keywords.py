"""A few telling words of a text against a passage of it: what someone types who looks for the text.

Paper: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering", Section 4
    (the inverse cloze task), with keywords in place of a sentence; passages as in Giorgi et al. 2021, "DeCLUTR".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.core.seeding import generator
from mirrormask.data.corpus_folder import Corpus
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.pairs.crops import span, word_edges
from mirrormask.data.tokens import Tokenized

_WINDOW = (8, 40)  # words of the stretch that keywords are drawn from
_SAMPLE = 20_000  # rows that token frequencies are counted on
_PARAGRAPH = 512  # tokens of a text that is drawn from, at least


def rarity(tokens: Tokenized, sample: int = _SAMPLE) -> NDArray[np.float64]:
    """Return, for every id of the vocabulary, log(rows / rows with the id) over evenly spaced rows of the corpus."""
    count = len(tokens)
    rows = np.unique(np.linspace(0, count - 1, min(sample, count)).astype(np.int64))
    frequency = np.zeros(len(tokens.starts), dtype=np.int64)
    for block in np.array_split(rows, max(1, len(rows) // 2_000)):
        for ids in tokens.take(block.tolist()):
            frequency[np.unique(ids)] += 1
    inverse: NDArray[np.float64] = np.log((len(rows) + 1) / (frequency + 1))
    return inverse


def keywords_and_passage(
    ids: Ids,
    starts: NDArray[np.bool_],
    weights: NDArray[np.float64],
    *,
    keywords: tuple[int, int],
    passage: tuple[int, int],
    chance: np.random.Generator,
) -> tuple[Ids, Ids]:
    """Return a few words of the text, drawn by how rare they are, in their order, and a span of it.

    Args:
        ids: token ids of the text.
        starts: for every id, whether it begins a word.
        weights: for every id, its rarity.
        keywords: fewest and most words.
        passage: fewest and most words of the span.
        chance: where they come from.
    """
    edges = word_edges(ids, starts)
    words = len(edges) - 1
    low, high = span(words, *_WINDOW, chance)
    rare = np.maximum.reduceat(weights[ids], edges[:-1])[low:high] + 1e-3  # a word is as rare as its rarest piece
    count = min(int(chance.integers(*keywords, endpoint=True)), high - low)
    chosen = low + np.sort(chance.choice(high - low, count, replace=False, p=rare / rare.sum()))
    taken = np.concatenate([ids[edges[word] : edges[word + 1]] for word in chosen])
    first, last = span(words, *passage, chance)
    return taken, ids[edges[first] : edges[last]]


@pairings.register("keywords")
class Keywords(Pairing):
    """Take a few telling words of each text for the anchor and a passage of it for the positive.

    Args:
        min_keywords: fewest words of the anchor.
        max_keywords: most words of the anchor.
        min_words: fewest words of the passage.
        max_words: most words of the passage.

    Relations: `crops` pairs two passages; `self` a text with itself.
    """

    def __init__(self, min_keywords: int = 2, max_keywords: int = 4, min_words: int = 6, max_words: int = 20) -> None:
        self.min_keywords = at_least("min_keywords", min_keywords, 1, of="keywords")
        self.max_keywords = at_least("max_keywords", max_keywords, min_keywords, of="keywords")
        self.min_words = at_least("min_words", min_words, 1, of="keywords")
        self.max_words = at_least("max_words", max_words, min_words, of="keywords")

    def max_tokens_needed(self, room: int) -> int:
        """Return more than fits into the model: words may come from far into the text."""
        return max(_PARAGRAPH, 4 * room)

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with two columns."""
        one_column(corpus, "keywords")
        return KeywordRows(tokens, rarity(tokens), self)


class KeywordRows(Examples):
    """Rows drawn as keywords and a passage."""

    def __init__(self, tokens: Tokenized, weights: NDArray[np.float64], pairing: Keywords) -> None:
        self._tokens = tokens
        self._weights = weights
        self._pairing = pairing

    def __len__(self) -> int:
        return len(self._tokens)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return keywords and a passage of each text."""
        rows = examples.tolist()
        p = self._pairing
        pairs = [
            keywords_and_passage(
                ids,
                self._tokens.starts,
                self._weights,
                keywords=(p.min_keywords, p.max_keywords),
                passage=(p.min_words, p.max_words),
                chance=generator(seed, "keywords", row),
            )
            if len(ids)
            else (ids, ids)
            for row, ids in zip(rows, self._tokens.take(rows), strict=True)
        ]
        return [first for first, _ in pairs], [second for _, second in pairs]
