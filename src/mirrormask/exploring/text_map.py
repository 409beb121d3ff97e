"""A map of texts: one page on which what is alike lies together, groups are named, and every text can be read."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask import __version__
from mirrormask.core.errors import at_least, between
from mirrormask.core.seeding import generator
from mirrormask.core.wording import counted
from mirrormask.exploring.layout import NEIGHBORS, STEPS, neighbor_layout
from mirrormask.exploring.neighbors import groups_of, nearest_others, principal, unit
from mirrormask.exploring.telling_words import telling_words
from mirrormask.exploring.texts import Progress, Texts, encode
from mirrormask.reporting.page import save

FEWEST = 10
"""Texts that a map needs."""

MOST = 50_000
"""Texts that a map shows; of more, a sample."""

MOST_GROUPS = 200
SHOWN = 300
"""Characters of a text that are shown."""

MAX_LENGTH = 128

_UNITS = 65_535  # steps in which a place is stored


@dataclass(frozen=True)
class TextMap:
    """Texts in the plane.

    Args:
        texts: that are shown.
        places: of each in the unit square (n, 2).
        groups: of each (n,), the largest being 0.
        names: of the groups, their telling words.
        left_out: texts that were too many.
    """

    texts: Texts
    places: NDArray[np.float32] = field(repr=False)
    groups: NDArray[np.int64] = field(repr=False)
    names: tuple[str, ...] = ()
    left_out: int = 0

    def html(self, title: str = "") -> str:
        """Return a page that needs nothing but itself; what is in the texts is shown and never run."""
        facts = f"{counted(len(self.texts), 'text')} in {counted(len(self.names), 'group')}"
        if self.left_out:
            facts += f", a sample: {self.left_out:,} more are not shown"
        parts = files("mirrormask.exploring") / "page"
        names = ("map.html", "colors.css", "map.css", "map.js")
        page, colors, style, script = ((parts / name).read_text(encoding="utf-8") for name in names)
        title = title or Path(self.texts.name).name
        return Template(page).substitute(
            title=escape(title),
            facts=escape(facts),
            generator=escape(f"mirrormask {__version__}"),
            style=colors + style,
            script=script,
            data=_inert({**self.drawing(), "title": title, "facts": facts}),
        )

    def save(self, path: Path | str, title: str = "") -> None:
        """Write the page so that the file is either whole or as it was before."""
        save(path, self.html(title))

    def to_dict(self) -> dict[str, Any]:
        """Return the groups with their sizes and names, JSON-able."""
        sizes = np.bincount(self.groups, minlength=len(self.names)).tolist()
        return {
            "schema": "mirrormask.map/1",
            "texts": len(self.texts),
            "left_out": self.left_out,
            "notes": list(self.texts.notes),
            "groups": [{"name": name, "texts": size} for name, size in zip(self.names, sizes, strict=True)],
        }

    def drawing(self) -> dict[str, Any]:
        """Return what the script of the page draws, JSON-able: places and groups packed, names, ids and cut texts."""
        steps = np.rint(self.places * _UNITS).astype("<u2")
        return {
            "places": base64.b64encode(steps.tobytes()).decode(),
            "groups": base64.b64encode(self.groups.astype("<u2").tobytes()).decode(),
            "names": list(self.names),
            "at": [_label_place(self.places[self.groups == group]) for group in range(len(self.names))],
            "ids": self.texts.ids,
            "texts": [_cut(text) for text in self.texts.texts],
        }


def draw_map(
    texts: Texts,
    *,
    model: Any = "mini-sentence",
    groups: int | None = None,
    most: int = MOST,
    max_length: int = MAX_LENGTH,
    steps: int = STEPS,
    seed: int = 42,
    progress: Progress | None = None,
) -> TextMap:
    """Lay texts out in the plane and name their groups.

    Args:
        texts: from `read_texts`.
        model: the encoder that tells what is alike.
        groups: how many groups; by default more for more texts.
        most: texts to show; of more, a sample.
        max_length: tokens that the encoder reads of a text.
        steps: of the layout.
        seed: of sample and groups.
        progress: called as texts are encoded and laid out.
    """
    at_least("texts", len(texts), FEWEST, of="a map")
    at_least("max_length", max_length, 8, of="a map")
    at_least("most", most, FEWEST, of="a map")
    chosen = _sample(texts, most, seed)
    count = groups if groups is not None else _usual_groups(len(chosen))
    between("groups", count, 1, min(MOST_GROUPS, len(chosen)) + 1, of="a map")
    known = chosen.vectors
    units = unit(encode(chosen.texts, model, max_length=max_length, progress=progress) if known is None else known)
    rows, _ = nearest_others(units, NEIGHBORS)
    tick = None if progress is None else lambda done: progress("laying out", done, steps)
    places = neighbor_layout(principal(units, 2), rows, steps=steps, progress=tick)
    found = groups_of(units, count, seed=seed)
    found = np.unique(found, return_inverse=True)[1].astype(np.int64)  # k-means may leave one empty
    words = telling_words(chosen.texts, found)
    names = _different([", ".join(each) or f"group {number}" for number, each in enumerate(words, 1)])
    return TextMap(chosen, _in_square(places), found, tuple(names), len(texts) - len(chosen))


def _sample(texts: Texts, most: int, seed: int) -> Texts:
    if len(texts) <= most:
        return texts
    kept = np.sort(generator(seed, "map").choice(len(texts), most, replace=False)).tolist()
    vectors = None if texts.vectors is None else texts.vectors[kept]
    own = [texts.texts[row] for row in kept], [texts.ids[row] for row in kept]
    return Texts(texts.name, *own, texts.notes, vectors)


def _usual_groups(count: int) -> int:
    """Return how many groups a reader can take in: about 6 of a hundred texts, 20 of five thousand, 40 of 50,000."""
    return max(2, min(40, round(1.15 * count**0.335)))


def _in_square(places: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the places in the unit square, their shape kept."""
    low, high = places.min(axis=0), places.max(axis=0)
    span = float((high - low).max()) or 1.0
    return ((places - (low + high) / 2) / span + 0.5).clip(0, 1).astype(np.float32)


def _label_place(places: NDArray[np.float32]) -> list[float]:
    """Return the middle of the densest part of a group, since a group may lie in several places."""
    middle = np.median(places, axis=0)
    reach = 0.25
    for _ in range(8):
        near = places[np.abs(places - middle).max(axis=1) <= reach]
        if not len(near):
            break
        middle, reach = near.mean(axis=0), max(0.04, reach * 0.7)
    return [round(float(value), 4) for value in middle]


def _different(names: Sequence[str]) -> list[str]:
    """Return the names, a number after those that occur again."""
    return [
        f"{name} ({names[:place].count(name) + 1})" if name in names[:place] else name
        for place, name in enumerate(names)
    ]


def _cut(text: str) -> str:
    flat = "\n".join(" ".join(line.split()) for line in text.strip().splitlines() if line.strip())
    return flat if len(flat) <= SHOWN else f"{flat[: SHOWN - 1].rstrip()}…"


def _inert(content: dict[str, Any]) -> str:
    """Return JSON that can stand inside a script element: no text in it can end the element or begin a comment."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text.encode("utf-8", "replace").decode("utf-8")
