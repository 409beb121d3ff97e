"""Classes: texts with a label each, for objectives that learn which texts belong together.

Paper: Khosla et al. 2020, "Supervised Contrastive Learning": the positives of a text are the others of its class
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mirrormask.core.batch import Ids
from mirrormask.core.errors import DataError
from mirrormask.data.pairs import Examples, Pairing, Rows, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

_BLOCK = 1 << 16


@pairings.register("classes")
class Classes(Pairing):
    """A text and its class, from two columns; the views make a second text of it. Relations: `self` has no classes."""

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row."""
        if corpus.width != 2:
            raise DataError(
                f"The pairing 'classes' takes two columns, text and label, and the corpus has {corpus.width}. Name "
                "them in this order."
            )
        names: dict[str, int] = {}
        numbers = [
            names.setdefault(label, len(names))
            for start in range(0, len(corpus), _BLOCK)
            for label in corpus.column(1, start, start + _BLOCK)
        ]
        labels = np.array(numbers, dtype=np.int64)
        if len(names) < 2:
            raise DataError(
                f"All {len(corpus):,} texts have the label {next(iter(names))!r}, so there is nothing to tell apart. "
                "Give texts of two classes or more, or read the text column alone with --column."
            )
        if np.bincount(labels).max() < 2:
            raise DataError(
                f"Each of the {len(names):,} labels has a single text, so no text has a positive. Name the column of "
                "classes, or read the text column alone with --column."
            )
        return _Labelled(tokens, labels)


class _Labelled(Examples):
    """One example a row, with its class."""

    def __init__(self, tokens: Tokenized, labels: Rows) -> None:
        self._tokens = tokens
        self._labels = labels

    def __len__(self) -> int:
        return len(self._labels)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the texts, without their labels."""
        return (self._tokens.take(examples.tolist(), 0),)

    def labels(self, examples: Rows) -> Rows:
        """Return the class of each text."""
        return self._labels[examples]
