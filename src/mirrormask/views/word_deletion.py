"""Word deletion: a sentence without some of its words.

Paper: Wu et al. 2020, "CLEAR: Contrastive Learning for Sentence Representation"; Gao et al. 2021, "SimCSE", Table 1

    x' = the words w_i with m_i = 1,  m_i ~ Bernoulli(1 - rate)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.errors import between
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def delete_words(ids: Ids, starts: NDArray[np.bool_], *, rate: float, rng: np.random.Generator) -> Ids:
    """Return the ids without each word dropped with chance `rate`; one word always stays.

    Args:
        ids: token ids of a text, without its frame.
        starts: for every id of the vocabulary, whether it begins a word.
        rate: chance of a word to be dropped.
        rng: where the choice comes from.
    """
    if len(ids) == 0:
        return ids
    word = np.cumsum(starts[ids])  # the number of the word each token belongs to
    words = np.unique(word)
    kept = words[rng.random(len(words)) >= rate]
    if len(kept) == 0:
        kept = rng.choice(words, 1)
    return ids[np.isin(word, kept)]


@views.register("word-deletion")
class WordDeletion(View):
    """Drop whole words at random before the encoder sees the text.

    Args:
        rate: chance of a word to be dropped (SimCSE's Table 1 tries 0.1, 0.2 and 0.3; 0.1 is best).

    Relations: `delete-one-word` drops exactly one; `crop` drops the ends; `dropout` leaves the text as it is.

    Example:
        >>> WordDeletion(rate=0.2).rate
        0.2
    """

    def __init__(self, rate: float = 0.1) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="word-deletion")

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with words deleted; special tokens and prompts stay."""
        return rewrite_texts(
            rows, vocabulary, lambda ids: delete_words(ids, vocabulary.word_starts, rate=self.rate, rng=rng)
        )
