"""The sentence itself: anchor and positive are one text, and the views make the difference between them.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Section 3.
"""

from __future__ import annotations

from pathlib import Path

from mirrormask.data.pairs import Examples, Pairing, RowExamples, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized


@pairings.register("self")
class SelfPair(Pairing):
    """Each sentence is its own positive. Relations: `crops` makes the two texts differ."""

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with one column."""
        one_column(corpus, "self")
        return RowExamples(tokens)
