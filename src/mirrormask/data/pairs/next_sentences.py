"""One of the next sentences: the positive is drawn from the few that follow in the document.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Table 2, "Next 3 sentences"; after
    Logeswaran & Lee 2018, "An Efficient Framework for Learning Sentence Representations" (Quick-Thought).

    positive of row i = row i + k,  k uniform on 1 .. min(within, rows that follow in the document)
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.core.seeding import generator
from mirrormask.data.pairs import Examples, Pairing, Rows, pairings
from mirrormask.data.pairs.next_sentence import Neighbors, followed_rows
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.store import ArrayReader
from mirrormask.data.text.tokens import Tokenized


@pairings.register("next-sentences")
class NextSentences(Pairing):
    """A sentence and one of those that follow it in the same document. Relations: `next-sentence` takes the next."""

    def __init__(self, within: int = 3) -> None:
        self.within = at_least("within", within, 1, of="next-sentences")

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example for every row that another row follows in its document."""
        return Followers(followed_rows(corpus, folder, "next-sentences"), corpus, tokens, self.within)


class Followers(Neighbors):
    """Pairs of a row and one of the next rows of its document, the row of each on disk."""

    def __init__(self, anchors: ArrayReader, corpus: Corpus, tokens: Tokenized, within: int) -> None:
        super().__init__(anchors, tokens)
        self._corpus = corpus
        self._within = within

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the sentences, and for each one that follows it."""
        rows = self.text_ids(examples).tolist()
        return self._tokens.take(rows), self._tokens.take([row + self._step(row, seed) for row in rows])

    def _step(self, row: int, seed: int) -> int:
        """Return how many rows on the positive of `row` stands."""
        begins = self._corpus.starts(row + 1, row + 1 + self._within)
        follow = int(np.argmax(begins)) if begins.any() else len(begins)
        return 1 + int(generator(seed, "next-sentences", row).integers(follow))
