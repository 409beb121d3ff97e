"""The next sentence: neighbors in a document are likely to mean something alike.

Paper: Logeswaran & Lee 2018, "An Efficient Framework for Learning Sentence Representations" (Quick-Thought), with the
    one following sentence as the positive.
"""

from __future__ import annotations

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
        return Neighbors(followed_rows(corpus, folder, "next-sentence"), tokens)


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
    """Pairs of rows i and i + 1, the i of each on disk."""

    def __init__(self, anchors: ArrayReader, tokens: Tokenized) -> None:
        self._anchors = anchors
        self._tokens = tokens

    def __len__(self) -> int:
        return len(self._anchors)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the sentences and the ones after them."""
        rows = self.text_ids(examples).tolist()
        return self._tokens.take(rows), self._tokens.take([row + 1 for row in rows])

    def text_ids(self, examples: Rows) -> Rows:
        """Return the row of each anchor."""
        return np.array([self._anchors[example] for example in examples.tolist()], dtype=np.int64)
