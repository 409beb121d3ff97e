"""Pairs with what is known about them in a third column: the name of a relation, or a score.

Paper: Reimers and Gurevych 2019, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", Section 3 (natural
    language inference for the classification objective, STS scores for the regression objective)
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import DataError, at_least
from mirrormask.data.pairs import Examples, Pairing, Rows, pairings
from mirrormask.data.text.corpus_folder import Corpus
from mirrormask.data.text.tokens import Tokenized

_BLOCK = 1 << 16


@pairings.register("labelled-pairs")
class LabelledPairs(Pairing):
    """Two sentences and their relation by name. Relations: `inference` makes triplets of such rows.

    Args:
        classes: the most relations that there may be; 0 takes any number.
    """

    def __init__(self, classes: int = 0) -> None:
        self.classes = at_least("classes", classes, 0, of="labelled-pairs")

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row; labels are numbered in the order of their names."""
        three_columns(corpus, "labelled-pairs", "label")
        names = list(cells(corpus, 2))
        known = {name: number for number, name in enumerate(sorted(set(names)))}
        if len(known) < 2:
            raise DataError(
                f"All {len(corpus):,} pairs have the label {names[0]!r}, so there is nothing to tell apart. Give pairs "
                "of two labels or more, or read the two texts alone with --column."
            )
        if self.classes and len(known) > self.classes:
            raise DataError(
                f"The pairs have {len(known):,} labels ({', '.join(sorted(known)[:5])}), and the 'classes' are "
                f"{self.classes}. Set as many, or leave rows out with data.where."
            )
        return _Known(tokens, np.array([known[name] for name in names], dtype=np.int64), corpus)


@pairings.register("scored-pairs")
class ScoredPairs(Pairing):
    """Two sentences and how alike they are, as a number. Relations: `labelled-pairs` has names of relations.

    Args:
        highest: what scores are divided by, so that they end at 1 (5 for STS); 0 takes the highest of the file.
    """

    def __init__(self, highest: float = 0.0) -> None:
        self.highest = at_least("highest", highest, 0, of="scored-pairs")

    def index(self, corpus: Corpus, tokens: Tokenized, folder: Path) -> Examples:
        """Return one example a row."""
        three_columns(corpus, "scored-pairs", "score")
        scores = np.array([_number(cell, row) for row, cell in enumerate(cells(corpus, 2), 1)], dtype=np.float32)
        highest = self.highest or float(scores.max())
        if scores.min() < 0 or scores.max() > highest or scores.min() == scores.max():
            raise DataError(
                f"The scores of pairs must differ and lie between 0 and {highest:g}; these lie between "
                f"{scores.min():g} and {scores.max():g}. Name another column, or set 'highest' of scored-pairs."
            )
        return _Known(tokens, scores / np.float32(highest), corpus)


class _Known(Examples):
    """The first two columns of each row, with its label."""

    def __init__(self, tokens: Tokenized, labels: NDArray[Any], corpus: Corpus) -> None:
        self._tokens = tokens
        self._labels = labels
        seen: dict[str, int] = {}
        self._first = np.array([seen.setdefault(text, len(seen)) for text in cells(corpus, 0)], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._labels)

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return both sentences."""
        return tuple(self._tokens.take(examples.tolist(), column) for column in (0, 1))

    def labels(self, examples: Rows) -> NDArray[Any]:
        """Return the number of each label, or each score."""
        return self._labels[examples]

    def sharing(self, examples: Rows) -> Rows:
        """Return all examples with a first sentence of the given ones."""
        return np.flatnonzero(np.isin(self._first, self._first[examples]))


def three_columns(corpus: Corpus, pairing: str, third: str) -> None:
    """Raise a DataError unless the corpus has two texts and something about them."""
    if corpus.width != 3:
        raise DataError(
            f"The pairing {pairing!r} takes three columns, two texts and a {third}, and the corpus has {corpus.width}. "
            "Name them in this order."
        )


def cells(corpus: Corpus, column: int) -> Iterator[str]:
    """Yield one column of a corpus, a block at a time."""
    for start in range(0, len(corpus), _BLOCK):
        yield from corpus.column(column, start, start + _BLOCK)


def _number(cell: str, row: int) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise DataError(f"Row {row:,} has {cell[:40]!r} where its score should be a number. Name the column of scores.")
    return found
