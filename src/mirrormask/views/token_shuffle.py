"""Token shuffle: the tokens of a sentence in another order.

Paper: Yan et al. 2021, "ConSERT: A Contrastive Framework for Self-Supervised Sentence Representation Transfer"
    ("Token shuffling")

    x' = x_(p(1)), x_(p(2)), ...,  p a random permutation

Encoders know order by positions alone, so other positions for the tokens and other tokens for the positions are the
same. Special tokens keep their places; the published code moves their positions too, which `faithful` does.
"""

from __future__ import annotations

import numpy as np

from mirrormask.core.batch import Ids, Tokens
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def shuffle_tokens(ids: Ids, rng: np.random.Generator) -> Ids:
    """Return the ids in a random order."""
    return ids[rng.permutation(len(ids))]


@views.register("token-shuffle")
class TokenShuffle(View):
    """Mix the order of the tokens.

    Args:
        faithful: let special tokens and prompts change places too, as the published code does.

    Relations: with `feature-cutoff` as the other view it is ConSERT's best.

    Example:
        >>> TokenShuffle().forward_key
        'plain'
    """

    def __init__(self, faithful: bool = False) -> None:
        super().__init__()
        self.faithful = faithful

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with their tokens mixed."""
        if self.faithful:
            return Tokens.of([shuffle_tokens(row, rng) for row in rows.rows])
        return rewrite_texts(rows, vocabulary, lambda ids: shuffle_tokens(ids, rng))
