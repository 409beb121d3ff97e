"""Figures of runs over seeds: every seed a dot, so that one sees what chance alone does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.reporting.drawing import color, short, write_png
from mirrormask.reporting.figures import bands, canvas, marked_points, strips
from mirrormask.study.compare import AVERAGE, SeedComparison
from mirrormask.study.rows import Row


def seed_strips(found: SeedComparison, *, names: Mapping[str, str] | None = None, title: str = "") -> Any:
    """Draw one line of dots per row, a dot per seed, means as strokes, the baseline's mean as a line through all."""
    rows = [((names or {}).get(row.name, row.name), found.values(row, AVERAGE)) for row in found.rows]
    what = f"Spearman × 100, mean over {found.average_title}"
    return strips(rows, title=title or "Every seed of every row", what=what)


def multiples_of(rows: Sequence[Row]) -> dict[str, list[tuple[float, Row]]]:
    """Return for each kind of generated negatives the rows that differ in how many are drawn, fewest first."""
    kinds: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        drawn = (row.record.get("parts") or {}).get("negatives") or {}
        if "multiple" in drawn:
            kind = ", ".join(str(value) for key, value in drawn.items() if key != "multiple")
            kinds.setdefault(kind, []).append((float(drawn["multiple"]), row))
    return {kind: sorted(found, key=lambda pair: pair[0]) for kind, found in kinds.items() if len(found) > 2}


def negatives_against_score(
    series: Sequence[tuple[float, NDArray[np.floating]]], *, batch: int, what: str, title: str = ""
) -> Any:
    """Draw the number of generated negatives against the score, a dot per seed and a line through the means.

    Args:
        series: for each multiple of the batch size the scores of its seeds; 0 is the run without.
        batch: rows of a batch.
        what: the score.
        title: of the figure.
    """
    with canvas(6.4, 3.9, title or "Number of generated negatives", grid="y") as (figure, panel):
        places = np.arange(len(series))
        for place, (_, values) in enumerate(series):
            panel.scatter(np.full(len(values), place), values, s=24, color=color(0), alpha=0.5, linewidths=0, zorder=3)
        means = [float(np.mean(values)) for _, values in series]
        panel.plot(places, means, color=color(0), zorder=2)
        labels = [f"{round(multiple * batch):,}" for multiple, _ in series]
        panel.set_xticks(places, labels)
        panel.set_xlabel(f"generated negatives beside a batch of {batch}")
        panel.set_ylabel(what)
    return figure


def training_cosines(rows: Sequence[Row], *, names: Mapping[str, str] | None = None, title: str = "") -> Any:
    """Draw the mean cosine of positives and in-batch negatives during training: a line for the mean, a band for seeds.

    Rows without logged cosines are left out.
    """
    names = names or {}
    place = 0
    title = title or "Cosines during training: positives solid, negatives dashed"
    with canvas(6.8, 4.0, title, grid="y") as (figure, panel):
        for row in rows:
            found = cosines_of(row)
            if found is None:
                continue
            steps, *both = found
            for values, line in zip(both, ("-", (0, (3, 2))), strict=True):
                label = short(names.get(row.name, row.name)) if line == "-" else None
                bands(panel, steps, values, place, linestyle=line, label=label)
            place += 1
        panel.set_xlabel("step")
        panel.set_ylabel("mean cosine")
        panel.set_ylim(-0.1, 1.02)
        if place:
            figure.legend(loc="outside lower center", ncols=min(place, 3), fontsize=9)
    return figure


def cosines_of(row: Row) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]] | None:
    """Return steps (s,) and the cosines of positives and negatives of every run (runs, s); None where not logged."""
    logs = [
        {int(entry["step"]): (entry["positive_cosine"], entry["negative_cosine"]) for entry in run.metrics}
        for run in row.runs
        if run.metrics and all("positive_cosine" in entry for entry in run.metrics)
    ]
    steps = sorted(set.intersection(*map(set, logs))) if logs else []
    if not steps:
        return None
    values = np.array([[log[step] for step in steps] for log in logs], dtype=np.float64)  # (runs, s, 2)
    return np.array(steps, dtype=np.float64), values[:, :, 0], values[:, :, 1]


def alignment_uniformity(
    rows: Sequence[Row],
    scores: Sequence[NDArray[np.floating]],
    *,
    names: Mapping[str, str] | None = None,
    what: str = "",
) -> Any:
    """Draw every seed of every row at its alignment and uniformity, darker where it scores higher.

    Args:
        rows: the rows.
        scores: of the runs of each row.
        names: what to call them.
        what: the score.
    """
    series = []
    for row, values in zip(rows, scores, strict=True):
        x, y = (np.array([run.record["geometry"][key] for run in row.runs]) for key in ("uniformity", "alignment"))
        series.append(((names or {}).get(row.name, row.name), x, y, values))
    axes = ("uniformity (lower is better)", "alignment (lower is better)")
    return marked_points(series, title="Alignment and uniformity, every seed", axes=axes, what=what)


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
    shaped = [row for row in found.rows if row.is_shaped]
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
