"""The files of an index, as a search asks for them."""

from __future__ import annotations

import numpy as np

from mirrormask.search.asked import Floats, Mask, Rows, Told
from mirrormask.search.filters import parse, unknown_column
from mirrormask.search.indexing import Opened
from mirrormask.search.metadata import Column

_SOME = 5000  # ids that one may have been meant to be


class Held:
    """An index on disk that stays as it is: what may be found is a mask of its rows.

    Args:
        opened: its files.
    """

    def __init__(self, opened: Opened) -> None:
        self.words, self.vectors = opened.words, opened.dense
        self._library, self._dead = opened.library, opened.dead

    def __len__(self) -> int:
        return len(self._library.owners)

    def allowed(self, where: str | None, but: Rows | None = None) -> Mask | None:
        """Return which passages may be found (n,): of documents that are not deleted and meet a condition."""
        documents = None if not self._dead.any() else ~self._dead
        if where is not None:
            met = parse(where).of(self._column)
            documents = met if documents is None else met & documents
        found = None if documents is None else documents[self._library.owners]
        if but is not None:
            found = np.ones(len(self), dtype=bool) if found is None else found
            found[but] = False
        return found

    def owners(self, rows: Rows) -> Rows:
        """Return the number of the document of each row."""
        found: Rows = self._library.owners[rows]
        return found

    def documents(self, allowed: Mask | None) -> int:
        """Return how many documents may be found."""
        there = self._library.owners if allowed is None else self._library.owners[allowed]
        return int(np.count_nonzero(np.diff(there, prepend=-1)))

    def rows_of(self, identity: str) -> Rows:
        """Return the rows of the passages of a document; none where there is no such document."""
        number = self._library.find(identity, ~self._dead)
        return np.zeros(0, dtype=np.int64) if number is None else self._library.passages_of(number)

    def some_ids(self) -> list[str]:
        """Return some ids, to offer one for an id that is not there."""
        return self._library.ids(list(range(min(len(self._library), _SOME))))

    def ids(self, rows: Rows) -> list[str]:
        """Return the id of the document of each row."""
        return self._library.ids(self._library.owners[rows].tolist())

    def told(self, rows: Rows) -> list[Told]:
        """Return what is told of some passages."""
        library = self._library
        owners = library.owners[rows].tolist()
        return [
            Told(library.id(number), library.passage(row), library.place(row), library.metadata(number))
            for row, number in zip(rows.tolist(), owners, strict=True)
        ]

    def mean_vector(self, rows: Rows) -> Floats:
        """Return the mean of the vectors of some passages (d,)."""
        found: Floats = self.vectors.vectors(rows).mean(0)
        return found

    def _column(self, name: str) -> Column:
        if name not in self._library.columns:
            raise unknown_column(name, self._library.columns)
        return self._library.column(name)
