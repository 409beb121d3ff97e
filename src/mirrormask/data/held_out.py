"""Examples set aside: a few that training never draws, so that it can be judged on them."""

from __future__ import annotations

from mirrormask.core.batch import Ids
from mirrormask.core.errors import at_least
from mirrormask.data.order import ShuffledOrder
from mirrormask.data.pairs import Examples, Rows


class Rest(Examples):
    """All examples but those set aside.

    Args:
        examples: all of them.
        aside: how many to set aside.
        seed: which ones.
    """

    def __init__(self, examples: Examples, aside: int, seed: int) -> None:
        at_least("aside", aside, 0, of="held-out examples")
        self._examples = examples
        self._aside = aside
        self._order = ShuffledOrder(len(examples), seed)

    def __len__(self) -> int:
        return len(self._examples) - self._aside

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        """Return the token ids of the given examples of the rest."""
        return self._examples.columns(self._numbers(examples), seed)

    def text_ids(self, examples: Rows) -> Rows:
        """Return the corpus row of each example's anchor."""
        return self._examples.text_ids(self._numbers(examples))

    def aside(self) -> Examples:
        """Return the examples set aside."""
        return _Aside(self._examples, self._order, self._aside)

    def _numbers(self, examples: Rows) -> Rows:
        return self._order.at(examples + self._aside)


class _Aside(Examples):
    def __init__(self, examples: Examples, order: ShuffledOrder, count: int) -> None:
        self._examples = examples
        self._order = order
        self._count = count

    def __len__(self) -> int:
        return self._count

    def columns(self, examples: Rows, seed: int) -> tuple[list[Ids], ...]:
        return self._examples.columns(self._order.at(examples), seed)

    def text_ids(self, examples: Rows) -> Rows:
        return self._examples.text_ids(self._order.at(examples))
