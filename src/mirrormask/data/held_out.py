"""Examples set aside: a few that training never draws, nor any of their texts, so that it can be judged on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.data.order import ShuffledOrder, ShuffledRuns, shuffled
from mirrormask.data.pairs import Examples, Rows

RUN = 16
"""Examples that are set aside in a row where neighbors share texts, so that few others have to be left out."""


class Some(Examples):
    """Examples of another set of examples, under numbers of their own.

    Args:
        examples: the whole set.
        count: how many of them.
    """

    def __init__(self, examples: Examples, count: int) -> None:
        self._examples = examples
        self._count = count
        self.together = examples.together

    def __len__(self) -> int:
        return self._count

    def numbers(self, examples: Rows) -> Rows:
        """Return the numbers that the given examples have in the whole set."""
        raise TypeError(f"{type(self).__name__} defines no numbers.")

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given examples."""
        return self._examples.columns(self.numbers(examples), seed)

    def labels(self, examples: Rows) -> NDArray[Any] | None:
        """Return the class of each example, where the whole set knows them."""
        return self._examples.labels(self.numbers(examples))


class Rest(Some):
    """All examples but those set aside and those that share a text with them.

    Args:
        examples: all of them.
        aside: how many to set aside.
        seed: which ones.
    """

    def __init__(self, examples: Examples, aside: int, seed: int) -> None:
        at_least("aside", aside, 0, of="held-out examples")
        self._aside = aside
        middle = np.array([len(examples) // 2])
        alone = len(examples.sharing(middle)) == 1
        self._order = shuffled(len(examples), max(examples.together, 1 if alone else RUN), seed)
        self.aside_numbers = chosen = self._order.take(0, aside)
        left_out = np.setdiff1d(examples.sharing(chosen), chosen)
        super().__init__(examples, len(examples) - aside - len(left_out))
        # an example left out gives its place to one from the end of the order, which is as much shorter
        end = self._order.take(aside + len(self), len(examples))
        self._left_out = np.setdiff1d(left_out, end)
        self._instead = np.setdiff1d(end, left_out)

    def numbers(self, examples: Rows) -> Rows:
        """Return the numbers that the given examples have in the whole set."""
        found = self._order.at(examples + self._aside)
        if len(self._left_out):
            place = np.searchsorted(self._left_out, found).clip(max=len(self._left_out) - 1)
            found = np.where(self._left_out[place] == found, self._instead[place], found)
        return found

    def aside(self) -> Examples:
        """Return the examples set aside."""
        return _Aside(self._examples, self._order, self._aside)


class _Aside(Some):
    def __init__(self, examples: Examples, order: ShuffledOrder | ShuffledRuns, count: int) -> None:
        super().__init__(examples, count)
        self._order = order

    def numbers(self, examples: Rows) -> Rows:
        return self._order.at(examples)
