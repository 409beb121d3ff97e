"""Word repetition: some sub-words of a sentence said twice, so that length no longer tells a positive.

Paper: Wu et al. 2022, "ESimCSE: Enhanced Sample Building Method for Contrastive Learning of Unsupervised Sentence
    Embedding", Section 3.1

    x' = x with each position of a set S twice,  |S| ~ uniform on [0, max(2, int(rate * N))],  N = sub-words of x
"""

from __future__ import annotations

import numpy as np

from mirrormask.core.batch import Ids, Tokens
from mirrormask.core.errors import between
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def repeat_tokens(ids: Ids, *, rate: float, rng: np.random.Generator) -> Ids:
    """Return the ids with some of them twice in a row.

    Args:
        ids: token ids of a text, without its frame.
        rate: largest share of the tokens that is repeated.
        rng: where the choice comes from.
    """
    most = min(max(2, int(rate * len(ids))), len(ids))
    count = int(rng.integers(most, endpoint=True))
    times = np.ones(len(ids), dtype=np.int64)
    times[rng.permutation(len(ids))[:count]] = 2
    return np.repeat(ids, times)


@views.register("word-repetition")
class WordRepetition(View):
    """Repeat some sub-words in place.

    Args:
        rate: largest share of the sub-words that is repeated (the published code takes 0.32 for BERT-base).

    Relations: with a `memory-bank` that a slow encoder fills (its `momentum`) it is ESimCSE.

    Example:
        >>> WordRepetition().rate
        0.32
    """

    def __init__(self, rate: float = 0.32) -> None:
        super().__init__()
        self.rate = between("rate", rate, 0, 1, of="word-repetition")

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with repetitions; special tokens and prompts stay."""
        return rewrite_texts(rows, vocabulary, lambda ids: repeat_tokens(ids, rate=self.rate, rng=rng))
