"""Pairings: which texts of a corpus belong together. One file per pairing; a new file is a new pairing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import DataError
from mirrormask.core.registry import Registry
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

Rows = NDArray[np.int64]


class Examples(ABC):
    """The examples a pairing finds in a corpus, drawn by number."""

    together: int = 1
    """So many examples that follow each other come into one batch, where neighbors are each other's best negatives."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given examples, one list per column (anchor, positive, hard negatives …).

        Args:
            examples: numbers of examples.
            seed: of this epoch; what is drawn depends only on it and on the number of the example.
        """

    def labels(self, examples: Rows) -> NDArray[Any] | None:
        """Return the class of each example (n,), or its score, where the pairing knows them."""
        return None

    def sharing(self, examples: Rows) -> Rows:
        """Return the numbers of all examples that may hold a text of the given ones, themselves among them."""
        return examples


class Pairing(ABC):
    """Makes examples from a corpus. The constructor's parameters are its configuration."""

    def max_tokens_needed(self, room: int) -> int:
        """Return how many tokens of each text to keep when `room` of them fit into the model beside the frame."""
        return room

    @abstractmethod
    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Find the examples.

        Args:
            corpus: the rows of text.
            tokens: their token ids.
            folder: where the pairing may keep what it finds, so that memory does not grow.

        Raises:
            DataError: the corpus has the wrong number of columns, or no example.
        """


class RowExamples(Examples):
    """One example a row, its columns those of the corpus.

    Args:
        tokens: the texts.
        together: so many rows that follow each other come into one batch.
        rows: only these rows; None takes all.
    """

    def __init__(self, tokens: Tokenized, together: int = 1, rows: Rows | None = None) -> None:
        self._tokens = tokens
        self._rows = rows
        self.together = together

    def __len__(self) -> int:
        return len(self._tokens if self._rows is None else self._rows)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the columns of the corpus as they are."""
        rows = (examples if self._rows is None else self._rows[examples]).tolist()
        return tuple(self._tokens.take(rows, column) for column in range(self._tokens.width))


def one_column(corpus: Corpus, pairing: str) -> None:
    """Raise a DataError unless the corpus has a single column."""
    if corpus.width != 1:
        raise DataError(
            f"The pairing {pairing!r} takes one column of text, and the corpus has {corpus.width}. "
            "Name one column, or use the pairing 'columns'."
        )


pairings: Registry[Pairing] = Registry("pairing", "mirrormask.data.pairs")
