"""A quiet style for figures, and their way into a page or a file.

Figures are drawn with matplotlib's object interface, so that no window, no global state and no display is needed.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mirrormask.core.storage import atomic_file

INK = "#24292f"
"""Text and axes; in an SVG it becomes the page's own text color, so that a figure follows light and dark."""

FAINT = "#8b949e"
"""Grid and secondary text, readable on white and on black."""

SERIES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colors of models, told apart by color-blind eyes too (Okabe & Ito 2008)."""

RAMP = ("#a8b8c8", "#7aa0c4", "#4a86ba", "#2a69a6", "#2f4f8f")
"""Five steps of one hue, from low scores to high."""

_FONT = "DejaVu Sans"  # comes with matplotlib, so that figures look the same everywhere
_STYLE = {
    "font.family": _FONT,
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": FAINT,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "lines.linewidth": 2,
    "lines.solid_capstyle": "round",
    "text.parse_math": False,  # a dollar sign in a file's name is a dollar sign
    "svg.fonttype": "none",
    "svg.hashsalt": "mirrormask",
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside the block in the style of all figures; the user's own settings come back after it."""
    import matplotlib

    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's own font draws it
        yield


def blank(width: float, height: float) -> Any:
    """Return an empty figure of so many inches, on a transparent ground."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0.0)
    return figure


def svg(figure: Any) -> bytes:
    """Return a figure as SVG to stand inside a page: no wider than the page, in its own font and text color."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = buffer.getvalue().decode("utf-8")
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    widest = f'style="width: 100%; max-width: {96 * figure.get_figwidth():.0f}px"'  # as wide as drawn, or the page
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf"\1 {widest}", text, count=1)
    text = text.replace(INK, "currentColor").replace(f"'{_FONT}'", "inherit").replace(f'"{_FONT}"', "inherit")
    return re.sub(r"font: ([^;\"]*?)(\d[\d.]*px) inherit", r"font: \1\2 system-ui, sans-serif", text).encode("utf-8")


def png(figure: Any, *, dpi: int = 160) -> bytes:
    """Return a figure as PNG on white."""
    buffer = io.BytesIO()
    with style():
        figure.savefig(buffer, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
    return buffer.getvalue()


def short(name: str, length: int = 28) -> str:
    """Return a name cut in the middle where it is too long for a figure.

    Example:
        >>> short("a-very-long-name-of-a-model", 11)
        'a-ver…model'
    """
    if len(name) <= length:
        return name
    keep = length - 1
    return f"{name[: keep // 2]}…{name[len(name) - (keep - keep // 2) :]}"


def color(model: int) -> str:
    """Return the color of the model at this place; after six they begin again."""
    return SERIES[model % len(SERIES)]


def write_png(figure: Any, path: Path) -> Path:
    """Write a figure and return where it is."""
    with atomic_file(path, "wb") as stream:
        stream.write(png(figure))
    return path
