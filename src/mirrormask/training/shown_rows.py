"""What objectives read in the views' own forwards: which rows a role shows, and at which positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives import Ask
from mirrormask.views import View


def shown_to(wanted: Sequence[dict[int, Ask]]) -> dict[int, Ask]:
    """Return the rows that several objectives show, by role.

    Raises:
        MirrormaskError: two of them want to show rows of their own to one view.
    """
    shown: dict[int, Ask] = {}
    for each in wanted:
        if shown.keys() & each.keys():
            raise MirrormaskError("Two objectives read the rows of one view, and each shows others. Leave one out.")
        shown |= each
    return shown


def positions_of(view: View, ask: Ask | None, rows: int) -> list[NDArray[np.int64]]:
    """Return where token states are read in each row of a role.

    Args:
        view: of the role.
        ask: what an objective wants of it, if one does.
        rows: their number.
    """
    if ask is None or not any(map(len, ask.positions)):
        return [np.zeros(0, dtype=np.int64)] * rows
    if view.works_at("rewrite"):
        raise MirrormaskError(
            "The objective reads single tokens of rows that its view rewrites, so they would be others. Take a view "
            "that leaves the text as it is, such as dropout."
        )
    return list(ask.positions)
