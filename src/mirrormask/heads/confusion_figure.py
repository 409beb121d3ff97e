"""The confusion matrix as a figure: shares of each row, so that rare classes can be read too."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import atomic_file, check_writable
from mirrormask.reporting.drawing import FAINT, INK, png, short, svg
from mirrormask.reporting.figures import canvas

PICTURES = (".png", ".svg")
_WRITTEN = 16  # classes up to which the numbers stand in the cells


def check_figure(path: Path) -> Path:
    """Return the path of a figure, or say what is wrong with it before any work is done."""
    if path.suffix not in PICTURES:
        raise MirrormaskError(f"A figure is written as {' or '.join(PICTURES)}. Got {path}.")
    check_writable(path.parent)
    return path


def confusion_figure(matrix: NDArray[np.int64], names: Sequence[str], title: str) -> Any:
    """Return the figure: a row for each class, and what share of it was taken for each.

    Args:
        matrix: counts (classes, classes).
        names: of the classes.
        title: what one sees.
    """
    shares = matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    size = 2.6 + 0.36 * len(names)
    with canvas(size + 0.8, size, title) as (figure, panel):
        panel.imshow(shares, cmap="Blues", vmin=0, vmax=1)
        places, shown = range(len(names)), [short(name, 20) for name in names]
        panel.set_xticks(places, shown, rotation=90)
        panel.set_yticks(places, shown)
        panel.set_xlabel("taken for")
        panel.set_ylabel("is")
        panel.tick_params(length=0)
        for side in panel.spines.values():
            side.set_color(FAINT)
        if len(names) <= _WRITTEN:
            for row, column in np.ndindex(*matrix.shape):
                if matrix[row, column]:
                    ink = "#ffffff" if shares[row, column] > 0.55 else INK if shares[row, column] < 0.02 else "#1b1f24"
                    text = f"{100 * shares[row, column]:.0f}"
                    panel.text(column, row, text, ha="center", va="center", fontsize=8, color=ink)
    return figure


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure, in the format its ending names."""
    content = svg(figure) if path.suffix == ".svg" else png(figure)
    with atomic_file(path, "wb") as stream:
        stream.write(content)
