"""Columns of a file: two make a pair, every further one a hard negative.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Eq. 5 (premise, entailment,
    contradiction).
"""

from __future__ import annotations

from pathlib import Path

from mirrormask.core.errors import DataError, at_least
from mirrormask.core.spread import spread_evenly
from mirrormask.data.pairs import Examples, Pairing, RowExamples, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized


@pairings.register("columns")
class Columns(Pairing):
    """The columns of a row: anchor, positive, then hard negatives.

    Args:
        together: so many rows that follow each other in the file stay in one batch, in which each is a negative of the
            others: in a file in the order of its topics, negatives that are hard without being searched for.
        size: take so many rows, spread evenly over the file, to compare files of one size; 0 takes all.
    """

    def __init__(self, together: int = 1, size: int = 0) -> None:
        self.together = at_least("together", together, 1, of="the pairing 'columns'")
        self.size = at_least("size", size, 0, of="the pairing 'columns'")

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row, with all its columns."""
        if corpus.width < 2:
            raise DataError(
                "The pairing 'columns' takes two columns or more (anchor, positive, hard negatives), and the corpus "
                "has one. Name the columns, or use the pairing 'self'."
            )
        if self.size > len(corpus):
            raise DataError(
                f"The pairing 'columns' was asked for {self.size:,} rows, and the corpus has {len(corpus):,}. "
                "Lower 'size'."
            )
        return RowExamples(tokens, self.together, spread_evenly(len(corpus), self.size) if self.size else None)
