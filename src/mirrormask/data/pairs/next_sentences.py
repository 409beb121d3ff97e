"""One of the next sentences: the positive is drawn from the few that follow in the document.

Paper: Gao et al. 2021, "SimCSE: Simple Contrastive Learning of Sentence Embeddings", Table 2, "Next 3 sentences"; after
    Logeswaran & Lee 2018, "An Efficient Framework for Learning Sentence Representations" (Quick-Thought).

    positive of row i = row i + k,  k uniform on 1 .. min(within, rows that follow in the document)
"""

from __future__ import annotations

from pathlib import Path

from mirrormask.core.errors import at_least
from mirrormask.core.seeding import generator
from mirrormask.data.pairs import Examples, Pairing, pairings
from mirrormask.data.pairs.next_sentence import Neighbors, followed_rows
from mirrormask.data.text.corpus_folder import Corpus
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
    """Pairs whose second sentence is drawn anew each epoch."""

    def _step(self, row: int, seed: int) -> int:
        return 1 + int(generator(seed, "next-sentences", row).integers(self._followers(row)))
