"""Write the figures that a comparison has something to draw for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mirrormask.core.storage import atomic_file
from mirrormask.evaluation.drawing import png
from mirrormask.experiments.compare import AVERAGE, SeedComparison
from mirrormask.experiments.compare_figures import (
    alignment_uniformity,
    cosines_of,
    multiples_of,
    negatives_against_score,
    seed_strips,
    training_cosines,
)

MOST = 6
"""Rows drawn at once where each needs a color or a mark of its own."""


def draw_comparison(found: SeedComparison, folder: Path, *, names: Mapping[str, str] | None = None) -> list[Path]:
    """Draw every seed, and what else the rows have: geometry, logged cosines, numbers of generated negatives.

    Args:
        found: the comparison.
        folder: where the PNG files go.
        names: what to call rows instead of the names of their recipes.
    """
    drawn = [write_png(seed_strips(found, names=names), folder / "seeds.png")]
    what = "average Spearman × 100"
    shaped = [row for row in found.rows if all(run.record["geometry"]["alignment"] is not None for run in row.runs)]
    if shaped:
        scores = [found.values(row, AVERAGE) for row in shaped[:MOST]]
        figure = alignment_uniformity(shaped[:MOST], scores, names=names, what=what)
        drawn.append(write_png(figure, folder / "alignment-uniformity.png"))
    logged = [row for row in found.rows if cosines_of(row) is not None]
    if logged:
        drawn.append(write_png(training_cosines(logged[:MOST], names=names), folder / "cosines.png"))
    for number, (kind, series) in enumerate(multiples_of(found.rows).items()):
        batch = int(series[0][1].record["settings"]["batch_size"])
        without = [(0.0, found.values(found.rows[0], AVERAGE))]
        points = [*without, *((multiple, found.values(row, AVERAGE)) for multiple, row in series)]
        title = f"Number of generated negatives ({kind})"
        figure = negatives_against_score(points, batch=batch, what=what, title=title)
        drawn.append(write_png(figure, folder / ("negatives.png" if number == 0 else f"negatives-{number + 1}.png")))
    return drawn


def write_png(figure: Any, path: Path) -> Path:
    """Write a figure and return where it is."""
    with atomic_file(path, "wb") as stream:
        stream.write(png(figure))
    return path
