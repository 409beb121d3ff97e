"""The next sentence: neighbors in a document are likely to mean something alike.

Paper: Logeswaran & Lee 2018, "An Efficient Framework for Learning Sentence Representations" (Quick-Thought), with the
    one following sentence as the positive.
"""

from __future__ import annotations

from bisect import bisect_left
from pathlib import Path

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples, Pairing, Rows, one_column, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.store import ArrayReader, ArrayWriter
from mirrormask.data.text.tokens import Tokenized

_BLOCK = 1 << 18


@pairings.register("next-sentence")
class NextSentence(Pairing):
    """A sentence and the one after it in the same document. Relations: `crops` needs no sentence splitting."""

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example for every row whose next row follows it in the source."""
        return Neighbors(followed_rows(corpus, folder, "next-sentence"), corpus, tokens)


def followed_rows(corpus: Corpus, folder: Path, pairing: str) -> ArrayReader:
    """Return the rows that another row follows in their document, kept in `folder`."""
    one_column(corpus, pairing)
    folder.mkdir(parents=True, exist_ok=True)
    anchors = ArrayWriter(folder / "anchors.npy", np.int64)
    for start in range(1, len(corpus), _BLOCK):
        anchors.extend(start - 1 + np.flatnonzero(~corpus.starts(start, start + _BLOCK)))
    found = anchors.finish()
    if len(found) < 2:
        raise DataError(
            f"The pairing {pairing!r} found {len(found)} neighbors in {len(corpus):,} rows, and at least 2 are "
            "needed. Split the text into sentences (split='auto'), or use the pairing 'self'."
        )
    return found


class Neighbors(Examples):
    """Pairs of a row and one of the next rows of its document, the row of each on disk.

    Args:
        anchors: the rows that another row follows, in their order.
        corpus: says where documents begin.
        tokens: the texts.
        within: how many rows on the second may stand at most.
    """

    def __init__(self, anchors: ArrayReader, corpus: Corpus, tokens: Tokenized, within: int = 1) -> None:
        self._anchors = anchors
        self._corpus = corpus
        self._tokens = tokens
        self._within = within

    def __len__(self) -> int:
        return len(self._anchors)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the sentences, and for each one that follows it."""
        rows = [self._anchors[example] for example in examples.tolist()]
        return self._tokens.take(rows), self._tokens.take([row + self._step(row, seed) for row in rows])

    def sharing(self, examples: Rows) -> Rows:
        """Return the examples of the same documents whose pairs may hold a row that the given ones may hold."""
        found: set[int] = set()
        for row in (self._anchors[example] for example in examples.tolist()):
            first, last = row - self._before(row), row + self._followers(row)
            found.update(range(bisect_left(self._anchors, first), bisect_left(self._anchors, last + 1)))
        return np.array(sorted(found), dtype=np.int64)

    def _step(self, row: int, seed: int) -> int:
        """Return how many rows on the positive of `row` stands."""
        return 1

    def _followers(self, row: int) -> int:
        """Return how many rows follow `row` in its document, as far as pairs reach."""
        begins = self._corpus.starts(row + 1, row + 1 + self._within)
        return int(np.argmax(begins)) if begins.any() else len(begins)

    def _before(self, row: int) -> int:
        """Return how many rows go before `row` in its document, as far as pairs reach."""
        begins = self._corpus.starts(max(1, row + 1 - self._within), row + 1)[::-1]
        return int(np.argmax(begins)) if begins.any() else len(begins)
