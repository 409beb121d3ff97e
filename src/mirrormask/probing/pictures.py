"""Pictures of a probed sentence: the heat map of its impacts, and the two trees read from it."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import atomic_file, check_writable
from mirrormask.probing.probed import Probed
from mirrormask.reporting.drawing import FAINT, INK, SERIES, blank, png, short, style, svg
from mirrormask.reporting.figures import write_title
from mirrormask.reporting.page import Picture, Section, render

if TYPE_CHECKING:
    from mirrormask.probing.probed import Probed

_BLUE = (0.165, 0.412, 0.651)  # RAMP's darkest but one
_EAST_ASIAN = ("Noto Sans CJK SC", "Noto Sans SC", "Source Han Sans SC", "WenQuanYi Micro Hei", "PingFang SC", "SimHei")
_LEVEL = 0.32  # inches from one level of a tree to the next

_READING = {
    "heat": (
        "Each row is a word, masked; each column shows how far its state moves when that word is masked too. Dark "
        "cells are words that matter to each other. A dot marks the head that was induced for the word of the row."
    ),
    "arcs": "The tree whose arcs have the most impact together. An arrow points from a head to the word it governs.",
    "phrases": "The sentence is cut again and again where the impact between the two parts is least.",
}


PICTURES = (".png", ".svg", ".html")


def check_picture(path: Path | str) -> Path:
    """Return the path of a picture, or say what is wrong with it before any work is done."""
    path = Path(path)
    if path.suffix not in PICTURES:
        raise MirrormaskError(f"A picture is written as {', '.join(PICTURES)}. Got {path}.")
    check_writable(path.parent)
    return path


def save_picture(probed: Probed, path: Path | str) -> None:
    """Write a picture, in the format its ending names: `.png`, `.svg` or `.html`."""
    path = check_picture(path)
    content = page(probed).encode("utf-8") if path.suffix == ".html" else picture(probed, path.suffix)
    with atomic_file(path, "wb") as stream:
        stream.write(content)


def picture(probed: Probed, suffix: str) -> bytes:
    """Return all three drawings, one below the other, as `.png` or `.svg`."""
    parts: Sequence[tuple[str, Callable[[Any, Probed], None], tuple[float, float]]] = (
        (_title(probed), heat_map, _heat_size(probed)),
        ("Dependency tree", arcs, _arcs_size(probed)),
        ("Phrases", phrases, _phrases_size(probed)),
    )
    width = max(size[0] for _, _, size in parts)
    with style():
        figure = blank(width, sum(size[1] for _, _, size in parts))
        places = figure.subfigures(3, 1, height_ratios=[size[1] for _, _, size in parts])
        for place, (title, draw, _) in zip(places, parts, strict=True):
            place.patch.set_alpha(0.0)
            write_title(place, title, bold=True)
            draw(place, probed)
    return png(figure) if suffix == ".png" else svg(figure)


def page(probed: Probed) -> str:
    """Return a one-file HTML page with the three drawings and how to read them."""
    sections = []
    for title, key, draw, size, alt in (
        ("Impact", "heat", heat_map, _heat_size(probed), "Heat map of the impact of every word on every other"),
        ("Dependency tree", "arcs", arcs, _arcs_size(probed), "Arcs from heads to the words they govern"),
        ("Phrases", "phrases", phrases, _phrases_size(probed), f"Tree of phrases: {probed.brackets}"),
    ):
        with style():
            figure = blank(*size)
            draw(figure, probed)
        sections.append(Section(title, (_READING[key],), figures=(Picture(svg(figure), alt),)))
    told = f"{probed.model}, {_layer(probed)}, {probed.impact.measure}"
    return render(" ".join(probed.words), sections, verdict=[probed.brackets], subtitle=told)


def heat_map(figure: Any, probed: Probed) -> None:
    """Draw the matrix; rows are the words looked at, columns the words masked beside them."""
    from matplotlib.colors import LinearSegmentedColormap

    n = len(probed.words)
    panel = figure.subplots()
    apart = ~np.eye(n, dtype=bool)
    values = np.where(apart, probed.matrix, np.nan)
    most = float(probed.matrix[apart].max()) if n > 1 else 1.0
    shades = LinearSegmentedColormap.from_list("impact", [(*_BLUE, 0.03), (*_BLUE, 0.55), (0.07, 0.19, 0.40, 1.0)])
    drawn = panel.pcolormesh(values, cmap=shades, vmin=0, vmax=most or 1.0, linewidth=0)
    for place, head in enumerate(probed.heads.tolist()):
        if head >= 0:
            panel.plot(head + 0.5, place + 0.5, "o", color=SERIES[1], markersize=max(3.0, 75 / max(n, 12)))
    labels = [short(word, 18) for word in probed.words]
    panel.set_xticks(np.arange(n) + 0.5, labels, rotation=90 if n > 3 else 0)
    panel.set_yticks(np.arange(n) + 0.5, labels)
    _readable([*panel.get_xticklabels(), *panel.get_yticklabels()])
    panel.xaxis.tick_top()
    panel.xaxis.set_label_position("top")
    panel.invert_yaxis()
    panel.set_aspect("equal")
    panel.tick_params(length=0)
    for spine in panel.spines.values():
        spine.set_visible(False)
    panel.set_xlabel("masked as well", color=FAINT)
    panel.set_ylabel("masked, and looked at", color=FAINT)
    bar = figure.colorbar(drawn, ax=panel, shrink=0.6, aspect=22, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label(f"impact ({probed.impact.measure})", color=FAINT)
    bar.ax.tick_params(length=0)


def arcs(figure: Any, probed: Probed) -> None:
    """Draw the dependency tree as arcs over the sentence."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    panel, x = _sentence(figure, probed)
    levels, leaves = _levels(probed.heads.tolist()), _leaves(probed.heads.tolist())
    for word, head in enumerate(probed.heads.tolist()):
        height = _LEVEL * levels[word]
        if head < 0:
            top = _LEVEL * (max(levels) + 0.9)
            panel.plot([x[word], x[word]], [0.1, top], color=SERIES[5], linewidth=1.4)
            panel.text(x[word], top + 0.02, "root", ha="center", va="bottom", color=SERIES[5], fontsize=9)
            panel.plot(x[word], 0.09, "v", color=SERIES[5], markersize=5)
            continue
        start, stop = (x[head] + leaves[word], 0.02), (x[word], 0.09)
        bend = [(start[0], 1.33 * height), (stop[0], 1.33 * height)]
        curve = Path([start, *bend, stop], [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
        panel.add_patch(PathPatch(curve, facecolor="none", edgecolor=SERIES[0], linewidth=1.3))
        panel.plot(*stop, "v", color=SERIES[0], markersize=5)
    panel.set_ylim(-0.35, _LEVEL * (max(levels) + 0.9) + 0.25)


def phrases(figure: Any, probed: Probed) -> None:
    """Draw the constituency tree over the sentence."""
    panel, x = _sentence(figure, probed)
    middle: dict[tuple[int, int], tuple[float, float]] = {
        (place, place + 1): (center, 0.0) for place, center in enumerate(x)
    }
    for span in sorted(probed.spans, key=lambda each: each[1] - each[0]):
        parts = _parts(span, list(middle))
        height = _LEVEL + max(middle[part][1] for part in parts)
        center = sum(middle[part][0] for part in parts) / len(parts)
        for part in parts:
            below = middle[part]
            foot = below[1] + (0.04 if below[1] == 0 else 0)
            panel.plot([center, below[0]], [height, foot], color=SERIES[2], linewidth=1.3, solid_capstyle="round")
        panel.plot(center, height, "o", color=SERIES[2], markersize=4)
        middle[span] = (center, height)
        for part in parts:
            del middle[part]
    panel.set_ylim(-0.35, max(height for _, height in middle.values()) + 0.15)


def _sentence(figure: Any, probed: Probed) -> tuple[Any, list[float]]:
    """Write the words side by side; the panel's unit is about an inch. Return it and the middle of each word."""
    panel = figure.subplots()
    widths = _widths(probed.words)
    ends = np.cumsum(widths)
    centers = (ends - np.array(widths) / 2).tolist()
    written = [
        panel.text(center, -0.08, word, ha="center", va="top", color=INK, fontsize=10)
        for center, word in zip(centers, probed.words, strict=True)
    ]
    _readable(written)
    panel.set_xlim(-0.1, float(ends[-1]) + 0.1)
    panel.axis("off")
    return panel, centers


def _widths(words: Sequence[str]) -> list[float]:
    """Return about how many inches each word needs."""
    wide = [sum(2 if unicodedata.east_asian_width(mark) in "WF" else 1 for mark in word) for word in words]
    return [0.09 * max(count, 2) + 0.16 for count in wide]


def _levels(heads: Sequence[int]) -> list[int]:
    """Return how high each arc must be to stand over those inside it; 1 is the lowest."""
    spans = {word: (min(word, head), max(word, head)) for word, head in enumerate(heads) if head >= 0}
    levels = [1] * len(heads)
    for word, (left, right) in sorted(spans.items(), key=lambda item: item[1][1] - item[1][0]):
        inside = (levels[other] for other, (a, b) in spans.items() if left <= a and b <= right and b - a < right - left)
        levels[word] = 1 + max(inside, default=0)
    return levels


def _leaves(heads: Sequence[int]) -> list[float]:
    """Return how far beside its head each arc begins, long ones nearer, so that arcs of one head do not cross."""
    found = [0.0] * len(heads)
    for head in set(heads) - {-1}:
        for side in (-1, 1):
            words = [word for word, own in enumerate(heads) if own == head and (word > head) == (side > 0)]
            for rank, word in enumerate(sorted(words, key=lambda each: -abs(each - head))):
                found[word] = side * (0.05 + min(0.03 * rank, 0.12))
    return found


def _parts(span: tuple[int, int], nodes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    return sorted(node for node in nodes if span[0] <= node[0] and node[1] <= span[1])


def _readable(texts: Sequence[Any]) -> None:
    """Give texts in Chinese characters a font that has them, where one is installed."""
    if not any(unicodedata.east_asian_width(mark) in "WF" for text in texts for mark in text.get_text()):
        return
    from matplotlib.font_manager import fontManager

    there = {font.name for font in fontManager.ttflist}
    families = [name for name in _EAST_ASIAN if name in there]
    for text in texts:
        text.set_fontfamily(["DejaVu Sans", *families])


def _title(probed: Probed) -> str:
    return f"Impact of masking, {short(probed.model, 40)}, {_layer(probed)}"


def _layer(probed: Probed) -> str:
    return "last layer" if probed.impact.layer == -1 else f"layer {probed.impact.layer}"


def _heat_size(probed: Probed) -> tuple[float, float]:
    n = len(probed.words)
    cell = min(0.42, max(0.19, 7.5 / n))
    longest = min(0.09 * max(map(len, probed.words)), 1.6)
    return max(cell * n + longest + 1.9, 4.6), cell * n + longest + 1.0


def _arcs_size(probed: Probed) -> tuple[float, float]:
    levels = max(_levels(probed.heads.tolist()))
    return max(sum(_widths(probed.words)) + 0.3, 4.6), _LEVEL * (levels + 0.9) + 1.1


def _phrases_size(probed: Probed) -> tuple[float, float]:
    height: dict[tuple[int, int], int] = {}
    for span in sorted(probed.spans, key=lambda each: each[1] - each[0]):
        below = [height[other] for other in height if span[0] <= other[0] and other[1] <= span[1]]
        height[span] = 1 + max(below, default=0)
    return max(sum(_widths(probed.words)) + 0.3, 4.6), _LEVEL * max(height.values(), default=1) + 1.0
