"""Delete one word: a sentence without exactly one of its words.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Tables 1 and 2, "Delete one
    word"

    x' = w_1, ..., w_(i - 1), w_(i + 1), ...,  i uniform
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids, Tokens
from mirrormask.data.text.words import word_edges
from mirrormask.views import View, Vocabulary, rewrite_texts, views


def delete_one(ids: Ids, starts: NDArray[np.bool_], rng: np.random.Generator) -> Ids:
    """Return the ids without one random word; a single word stays.

    Args:
        ids: token ids of a text, without its frame.
        starts: for every id of the vocabulary, whether it begins a word.
        rng: where the choice comes from.
    """
    if len(ids) == 0:
        return ids
    edges = word_edges(ids, starts)
    if len(edges) <= 2:
        return ids
    word = int(rng.integers(len(edges) - 1))
    return np.concatenate([ids[: edges[word]], ids[edges[word + 1] :]])


@views.register("delete-one-word")
class DeleteOneWord(View):
    """Drop exactly one word.

    Relations: `word-deletion` drops each word with a chance.

    Example:
        >>> DeleteOneWord().forward_key
        'plain'
    """

    def rewrite(self, rows: Tokens, rng: np.random.Generator, vocabulary: Vocabulary) -> Tokens:
        """Return the rows with a word deleted; special tokens and prompts stay."""
        return rewrite_texts(rows, vocabulary, lambda ids: delete_one(ids, vocabulary.word_starts, rng))
