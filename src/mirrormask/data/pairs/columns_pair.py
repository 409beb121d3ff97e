"""Columns of a file: two make a pair, every further one a hard negative.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Eq. 5 (premise, entailment,
    contradiction).
"""

from __future__ import annotations

from pathlib import Path

from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples, Pairing, RowExamples, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized


@pairings.register("columns")
class Columns(Pairing):
    """The columns of a row: anchor, positive, then hard negatives."""

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with all its columns."""
        if corpus.width < 2:
            raise DataError(
                "The pairing 'columns' takes two columns or more (anchor, positive, hard negatives), and the corpus "
                "has one. Name the columns, or use the pairing 'self'."
            )
        return RowExamples(tokens)
