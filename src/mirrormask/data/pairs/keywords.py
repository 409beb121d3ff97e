"""A passage of a text with a few of its telling words, as someone types who looks for it, or with another passage.

Paper: Lee et al. 2019, "Latent Retrieval for Weakly Supervised Open Domain Question Answering", Section 4
    (the inverse cloze task), with keywords in place of a sentence; passages as in Giorgi et al. 2021, "DeCLUTR".
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least, between
from mirrormask.core.seeding import generator
from mirrormask.core.spread import spread_evenly
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.pairs.crops import span, word_edges
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

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


def keywords_of(
    ids: Ids, edges: NDArray[np.int64], weights: NDArray[np.float64], count: int, chance: np.random.Generator
) -> Ids:
    """Return some words of a text in their order, drawn by how rare they are.

    Args:
        ids: token ids of the text.
        edges: where its words begin, and its end.
        weights: for every id of the vocabulary, its rarity; a word is as rare as its rarest piece.
        count: how many words, at most all.
        chance: where they come from.
    """
    words = len(edges) - 1
    rare = np.maximum.reduceat(weights[ids], edges[:-1]) + 1e-3
    chosen = np.sort(chance.choice(words, min(count, words), replace=False, p=rare / rare.sum()))
    return np.concatenate([ids[edges[word] : edges[word + 1]] for word in chosen])


def two_passages(
    words: int, min_words: int, max_words: int, chance: np.random.Generator
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return two spans of words that do not overlap, in either order; there must be twice `min_words`."""
    cut = int(chance.integers(min_words, words - min_words, endpoint=True))
    first = span(cut, min_words, max_words, chance)
    start, stop = span(words - cut, min_words, max_words, chance)
    pair = first, (cut + start, cut + stop)
    return pair if chance.random() < 0.5 else pair[::-1]  # type: ignore[return-value]


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

    def draw(
        self, ids: Ids, starts: NDArray[np.bool_], weights: NDArray[np.float64], chance: np.random.Generator
    ) -> tuple[Ids, Ids]:
        """Return anchor and positive from the token ids of a text."""
        edges = word_edges(ids, starts)
        words = len(edges) - 1
        apart = chance.random() < self.passages
        if apart and words >= _LONG * self.min_words:
            (a, b), (c, d) = two_passages(words, self.min_words, self.max_words, chance)
            return ids[edges[a] : edges[b]], ids[edges[c] : edges[d]]
        first, last = span(words, self.min_words, self.max_words, chance)
        passage = ids[edges[first] : edges[last]]
        count = int(chance.integers(self.min_keywords, self.max_keywords, endpoint=True))
        return keywords_of(passage, edges[first : last + 1] - edges[first], weights, count, chance), passage

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
        """Return two columns drawn from each text."""
        rows = examples.tolist()
        pairs = [
            self._pairing.draw(ids, self._tokens.starts, self._weights, generator(seed, "keywords", row))
            if len(ids)
            else (ids, ids)
            for row, ids in zip(rows, self._tokens.take(rows), strict=True)
        ]
        return [first for first, _ in pairs], [second for _, second in pairs]
