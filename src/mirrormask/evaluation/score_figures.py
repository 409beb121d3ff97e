"""The figures of an evaluation; each is titled with what one sees in it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.evaluation.geometry import Geometry
from mirrormask.evaluation.statistics.bootstrap import Estimate
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.reporting.drawing import FAINT, blank, color, short, style
from mirrormask.reporting.figures import bars, canvas, ridge, write_title

BINS = 5
"""Gold scores are cut into five equal parts of their scale, as in figure 3 of the SimCSE paper."""


def similarity_density(
    models: Sequence[str],
    similarities: NDArray[np.floating],
    scores: NDArray[np.floating],
    scale: tuple[float, float] = (0.0, 5.0),
) -> Any:
    """Draw the density of cosines for each fifth of the gold scale, one column per model.

    Args:
        models: names.
        similarities: cosine of every pair under each model (models, n).
        scores: gold score of every pair (n,).
        scale: lowest and highest possible score.
    """
    edges = np.linspace(*scale, BINS + 1)
    places = np.clip(np.digitize(scores, edges[1:-1], right=True), 0, BINS - 1)
    low = min(-0.05, float(np.quantile(similarities, 0.002, axis=1).min()) - 0.08)
    grid = np.linspace(max(-1.0, low), 1.0, 180)
    with style():
        across = min(3, len(models))
        down = math.ceil(len(models) / across)
        figure = blank((6.4, 9.0, 9.9)[across - 1], 0.4 + 4.0 * down)
        write_title(figure, "Cosine of sentence pairs, by how alike people found them", bold=True)
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        for panel in panels.flat[len(models) :]:
            panel.set_visible(False)
        for model, panel in enumerate(panels.flat[: len(models)]):
            for part in range(BINS):
                ridge(panel, similarities[model][places == part], grid, part, BINS)
            correlation = 100 * spearman(similarities[model], scores)
            panel.set_title(f"{short(models[model], 24 if across < 3 else 18)} · Spearman {correlation:.1f}")
            panel.set_xlim(grid[0], 1.0)
            panel.set_ylim(-0.08, BINS + 0.6)
            panel.spines["left"].set_visible(False)
            panel.tick_params(axis="y", length=0)
            panel.set_xlabel("cosine")
            panel.grid(axis="x")
            panel.set_axisbelow(True)
        labels = [f"{_plain(a)} – {_plain(b)}" for a, b in itertools.pairwise(edges)]
        for panel in panels[:, 0]:
            panel.set_yticks(np.arange(BINS) + 0.18, labels)
            panel.set_ylabel("gold score")
    return figure


def spectrum(models: Sequence[str], geometries: Sequence[Geometry]) -> Any:
    """Draw the singular values of each model's vectors on a logarithmic scale."""
    lowest = 1.0
    with canvas(6.4, 4.0, "How strongly each direction of the space is used", bold=True) as (figure, panel):
        for model, (name, found) in enumerate(zip(models, geometries, strict=True)):
            values = found.spectrum[found.spectrum > 1e-4]
            lowest = min(lowest, float(values.min(initial=1.0)))
            label = f"{short(name)} (effective rank {found.effective_rank:.0f} of {len(found.spectrum)})"
            panel.plot(np.arange(1, len(values) + 1), values, color=color(model), label=label)
        panel.set_yscale("log")
        panel.set_ylim(max(lowest * 0.8, 1e-4), 1.6)
        panel.set_xlim(left=-3)
        panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        panel.set_xlabel("direction, strongest first")
        panel.set_ylabel("singular value, largest = 1")
        panel.grid(axis="y", which="major")
        panel.minorticks_off()
        panel.legend(loc="upper right", borderaxespad=0.2)
    return figure


def plane(models: Sequence[str], geometries: Sequence[Geometry]) -> Any:
    """Draw each model in the plane of uniformity and alignment; both are better when lower."""
    with canvas(6.4, 4.2, "Alignment against uniformity", grid="both", bold=True) as (figure, panel):
        points = [(found.uniformity, float(found.alignment or 0.0)) for found in geometries]
        for model, (x, y) in enumerate(points):
            panel.scatter(x, y, s=110, color=color(model), zorder=3, edgecolors="white", linewidths=1.2)
        across, up = np.array(points).T
        panel.set_xlim(*_margins(across, 1.0))
        panel.set_ylim(max(0.0, _margins(up, 0.2)[0]), _margins(up, 0.2)[1])
        middle = sum(panel.get_xlim()) / 2
        for name, point in zip(models, points, strict=True):
            left = point[0] <= middle
            place = {"xytext": (11 if left else -11, 0), "ha": "left" if left else "right", "va": "center"}
            panel.annotate(short(name), point, textcoords="offset points", **place)
        panel.set_xlabel("uniformity  (lower: the space is used more evenly)")
        panel.set_ylabel("alignment  (lower: pairs that\nmean the same are closer)")
        panel.annotate(
            "better",
            xy=(0.02, 0.03),
            xytext=(0.11, 0.13),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=FAINT,
            va="center",
            arrowprops={"arrowstyle": "-|>", "color": FAINT, "linewidth": 1.2},
        )
    return figure


def score_bars(
    models: Sequence[str], scores: Mapping[str, Sequence[Estimate]], *, title: str, emphasized: Sequence[str] = ()
) -> Any:
    """Draw scores as bars with their confidence intervals, one group per metric or task.

    Args:
        models: names.
        scores: for each row's label one estimate per model.
        title: what is shown.
        emphasized: labels to set in bold, such as the average.
    """
    spans = {label: [(found.value, found.low, found.high) for found in row] for label, row in scores.items()}
    what = "percent; the line is the 95 % confidence interval"
    return bars(models, spans, title=title, what=what, emphasized=emphasized)


def _margins(values: NDArray[np.floating], least: float) -> tuple[float, float]:
    """Return limits around the values, at least `least` apart, so that near-equal models do not look far apart."""
    low, high = float(values.min()), float(values.max())
    spare = max(0.18 * (high - low), (least - (high - low)) / 2, 0.05 * least)
    return low - spare, high + spare


def _plain(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".").replace("-", "−")
