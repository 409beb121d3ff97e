"""The forms that figures take, from plain arrays: bars with intervals, strips, ridges, marked points, bands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.reporting.drawing import FAINT, INK, RAMP, blank, color, short, style

Spans = Sequence[tuple[float, float, float]]
"""A value with its interval, for each series: (value, low, high)."""

_MARKS = "osD^vP*X<>"


@contextmanager
def canvas(width: float, height: float, title: str, *, grid: str = "", bold: bool = False) -> Iterator[tuple[Any, Any]]:
    """Give a figure of so many inches and its one panel, in the style of all figures.

    Args:
        width, height: in inches.
        title: what one sees.
        grid: lines behind the drawing: "x", "y", "both" or none.
        bold: set the title in bold, as inside a report.
    """
    with style():
        figure = blank(width, height)
        write_title(figure, title, bold=bold)
        panel = figure.subplots()
        yield figure, panel
        if grid:
            panel.grid(axis=grid)
            panel.set_axisbelow(True)


def write_title(figure: Any, title: str, *, bold: bool = False) -> None:
    """Write the title of a figure."""
    look = {"fontsize": 12, "fontweight": "bold"} if bold else {"fontsize": 11}
    figure.suptitle(title, x=0.01, ha="left", **look)


def bars(
    series: Sequence[str], rows: Mapping[str, Spans], *, title: str, what: str, emphasized: Sequence[str] = ()
) -> Any:
    """Draw values as bars with their intervals, one group per row and one color per series.

    Args:
        series: names, such as of models.
        rows: for each label one value with its interval per series.
        title: what is shown.
        what: the axis.
        emphasized: labels to set in bold, such as the average.
    """
    thickness = 0.8 / len(series)
    every = [span for row in rows.values() for span in row]
    height = 1.3 + (0.25 * len(series) + 0.17) * len(rows)
    with canvas(6.8, height, title, grid="x", bold=True) as (figure, panel):
        for place, row in enumerate(rows.values()):
            for number, (value, low, high) in enumerate(row):
                y = place + (number - (len(series) - 1) / 2) * thickness
                panel.barh(y, value, thickness * 0.84, color=color(number), alpha=0.32, zorder=2)
                panel.plot([low, high], [y, y], color=color(number), linewidth=3, zorder=3)
                panel.plot(value, y, "o", color=color(number), markersize=6, zorder=4)
                panel.text(max(high, 0) + 1.5, y, f"{value:.1f}", va="center", fontsize=9)
        _names(panel, list(rows))
        for label in panel.get_yticklabels():
            label.set_fontweight("bold" if label.get_text() in emphasized else "normal")
        panel.set_ylim(len(rows) - 0.45, -0.55)
        panel.set_xlim(min(0.0, *(low for _, low, _ in every)), 1.1 * max(10.0, *(high for *_, high in every)))
        panel.set_xlabel(what)
        if len(series) > 1:
            from matplotlib.patches import Patch

            handles = [Patch(color=color(number), label=short(name)) for number, name in enumerate(series)]
            columns = {"ncols": min(3, len(series)), "handlelength": 1.0, "columnspacing": 1.6}
            panel.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.01, 1.0), **columns)
    return figure


def strips(rows: Sequence[tuple[str, NDArray[np.floating]]], *, title: str, what: str) -> Any:
    """Draw one line of dots per row, means as strokes, the first row's mean as a line through all.

    Args:
        rows: name and values of each; the first is what the others are held against.
        title: what is shown.
        what: the axis.
    """
    with canvas(7.2, 1.1 + 0.34 * len(rows), title, grid="x") as (figure, panel):
        panel.axvline(float(rows[0][1].mean()), color=FAINT, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        for place, (_, values) in enumerate(rows):
            shade = INK if place == 0 else color(0)
            panel.scatter(values, np.full(len(values), place), s=26, color=shade, alpha=0.55, linewidths=0, zorder=3)
            mean = float(values.mean())
            panel.plot([mean, mean], [place - 0.3, place + 0.3], color=shade, linewidth=2.2, zorder=4)
        _names(panel, [short(name, 34) for name, _ in rows])
        panel.set_ylim(len(rows) - 0.4, -0.6)
        panel.set_xlabel(what)
    return figure


def ridge(panel: Any, values: NDArray[np.floating], grid: NDArray[np.floating], part: int, parts: int) -> None:
    """Draw the density of values as a filled curve on base line `part` of so many, with a stroke at the median."""
    order = 3 + 2 * (parts - part)  # lower curves stand in front
    panel.axhline(part, color=FAINT, linewidth=0.8, alpha=0.6, zorder=order)
    if len(values) < 3 or np.ptp(values) < 1e-6:
        panel.plot(values, np.full(len(values), part + 0.1), "|", color=RAMP[part], markersize=12, zorder=order)
        return
    from scipy.stats import gaussian_kde

    density = gaussian_kde(values)(grid)
    curve = 1.4 * density / density.max()
    seen = curve > 0.004  # the tails of a kernel never end; a line along the base would hide what is behind
    panel.fill_between(grid, part, part + curve, where=seen, color=RAMP[part], linewidth=0, zorder=order)
    panel.plot(grid[seen], part + curve[seen], color="white", linewidth=1.0, alpha=0.9, zorder=order + 1)
    median = float(np.median(values))
    height = float(np.interp(median, grid, curve))
    panel.plot([median, median], [part, part + height], color="white", linewidth=1.6, zorder=order + 1)


def marked_points(
    series: Sequence[tuple[str, NDArray[np.floating], NDArray[np.floating], NDArray[np.floating]]],
    *,
    title: str,
    axes: tuple[str, str],
    what: str,
) -> Any:
    """Draw points with a mark per series, darker where their value is higher.

    Args:
        series: name, x, y and value of every point, for each.
        title: what is shown.
        axes: names of both.
        what: the value.
    """
    with canvas(6.6, 4.6, title, grid="both") as (figure, panel):
        every = np.concatenate([values for *_, values in series])
        low, high = float(every.min()), float(every.max())
        for place, (name, x, y, values) in enumerate(series):
            shown = panel.scatter(
                x,
                y,
                c=values,
                cmap="viridis_r",
                vmin=low,
                vmax=high if high > low else low + 1,
                s=42,
                marker=_MARKS[place % len(_MARKS)],
                edgecolors="white",
                linewidths=0.6,
                label=short(name, 26),
                zorder=3,
            )
        panel.set_xlabel(axes[0])
        panel.set_ylabel(axes[1])
        bar = figure.colorbar(shown, ax=panel, pad=0.02)
        bar.outline.set_visible(False)
        bar.set_label(what)
        legend = figure.legend(loc="outside lower center", ncols=min(len(series), 3), fontsize=9)
        for handle in legend.legend_handles:
            handle.set_array(None)  # a mark stands for a series and not for a value
            handle.set_facecolor(FAINT)
    return figure


def bands(panel: Any, x: NDArray[np.floating], values: NDArray[np.floating], place: int, **line: Any) -> None:
    """Draw the mean of several runs (runs, x) as a line in the color of its place, and all they reach as a band."""
    panel.plot(x, values.mean(axis=0), color=color(place), linewidth=1.4, **line)
    if len(values) > 1:
        low, high = values.min(axis=0), values.max(axis=0)
        panel.fill_between(x, low, high, color=color(place), alpha=0.18, linewidth=0)


def _names(panel: Any, names: Sequence[str]) -> None:
    """Write a name beside every line of a panel, without an axis."""
    panel.set_yticks(range(len(names)), list(names))
    panel.tick_params(axis="y", length=0)
    panel.spines["left"].set_visible(False)
