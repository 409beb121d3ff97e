"""Texts that say the same: equal but for case and punctuation, nearly equal word for word, or near in meaning."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, at_least, between, one_of
from mirrormask.core.storage import atomic_file
from mirrormask.exploring.closeness import Closeness, choose_closeness
from mirrormask.exploring.near_words import Pairs, near_by_words, normal
from mirrormask.exploring.neighbors import nearest_others, unit
from mirrormask.exploring.texts import Progress, Texts, encode
from mirrormask.reporting.drawing import short
from mirrormask.reporting.tables import Table

WORDS = 0.7
"""Overlap of runs of three words from which two texts are nearly the same."""

BY = ("both", "words")
KINDS = {"exact": "same but for case and punctuation", "words": "nearly the same words", "meaning": "near in meaning"}
FORMATS = (".csv", ".jsonl")
MAX_LENGTH = 128

_NEIGHBORS = 12


@dataclass(frozen=True)
class Group:
    """Texts that say the same.

    Args:
        kind: "exact", "words" or "meaning": the loosest bond that holds it together.
        similarity: of the loosest bond: share of runs of words, or cosine.
        members: places of its texts, in order.
    """

    kind: str
    similarity: float
    members: tuple[int, ...]


@dataclass(frozen=True)
class Duplicates:
    """What repeats in a pile of texts.

    Args:
        texts: that were looked at.
        groups: of two texts or more, the largest first.
        closeness: from which cosine on texts are near in meaning; None where words alone were compared.
        words: overlap from which texts are nearly the same.
    """

    texts: Texts
    groups: tuple[Group, ...]
    closeness: Closeness | None
    words: float

    @property
    def repeated(self) -> int:
        """Return how many texts could go if one of each group stayed."""
        return sum(len(group.members) - 1 for group in self.groups)

    def summary(self) -> list[str]:
        """Return what was found, in sentences."""
        total, share = len(self.texts), self.repeated / len(self.texts)
        if not self.groups:
            said = [f"None of {total:,} texts repeats another."]
        else:
            kinds = {kind: sum(group.kind == kind for group in self.groups) for kind in KINDS}
            parts = ", ".join(f"{count:,} {KINDS[kind]}" for kind, count in kinds.items() if count)
            count = f"{len(self.groups):,} group{'s' if len(self.groups) > 1 else ''}"
            said = [
                f"{count} among {total:,} texts: {parts}.",
                f"{self.repeated:,} texts ({100 * share:.1f} %) repeat another; nothing was deleted.",
            ]
        return [*said, *([self.closeness.reason] if self.closeness else [])]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for every text of a group: group, kind, similarity, id and text."""
        return [
            {
                "group": number,
                "kind": group.kind,
                "similarity": round(group.similarity, 4),
                "id": self.texts.ids[place],
                "text": self.texts.texts[place],
            }
            for number, group in enumerate(self.groups, 1)
            for place in group.members
        ]

    def table(self, *, groups: int = 10, members: int = 4) -> Table:
        """Return the largest groups, a text a line, for the terminal."""
        rows = []
        for number, group in enumerate(self.groups[:groups], 1):
            for place in group.members[:members]:
                text = short(" ".join(self.texts.texts[place].split()), 90)
                rows.append((str(number), text, self.texts.ids[place], group.kind, f"{group.similarity:.2f}"))
            if len(group.members) > members:
                rows.append((str(number), f"… and {len(group.members) - members:,} more", "", "", ""))
        left = len(self.groups) - groups
        note = f"{left:,} more groups; --out FILE.csv writes all of them." if left > 0 else ""
        return Table(
            "The largest groups", ("group", "text", "id", "kind", "similarity"), tuple(rows), (), note, (1, 2, 3)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the groups with the ids and texts of their members, JSON-able."""
        groups = [
            {
                "kind": group.kind,
                "similarity": group.similarity,
                "members": [{"id": self.texts.ids[place], "text": self.texts.texts[place]} for place in group.members],
            }
            for group in self.groups
        ]
        return {
            "schema": "mirrormask.duplicates/1",
            "texts": len(self.texts),
            "repeated": self.repeated,
            "threshold": self.closeness.threshold if self.closeness else None,
            "reason": self.closeness.reason if self.closeness else None,
            "words": self.words,
            "notes": list(self.texts.notes),
            "groups": groups,
        }

    def save(self, path: Path | str) -> None:
        """Write the rows as `.csv` or `.jsonl`, whole or not at all."""
        check_format(path)
        rows = self.rows()
        with atomic_file(path) as stream:
            if Path(path).suffix == ".jsonl":
                stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            else:
                writer = csv.DictWriter(stream, ["group", "kind", "similarity", "id", "text"], lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def check_format(path: Path | str) -> None:
    """Raise a MirrormaskError where groups cannot be written to a file of this name."""
    if Path(path).suffix not in FORMATS:
        raise MirrormaskError(f"Groups are written as {' or '.join(FORMATS)}. Got {path}.")


def find_duplicates(
    texts: Texts,
    *,
    model: Any = "mini-sentence",
    by: str = "both",
    threshold: float | None = None,
    words: float = WORDS,
    max_length: int = MAX_LENGTH,
    seed: int = 42,
    progress: Progress | None = None,
) -> Duplicates:
    """Find groups of texts that say the same.

    Args:
        texts: from `read_texts`.
        model: the encoder that tells what is near in meaning.
        by: "words" leaves the encoder out.
        threshold: cosine from which two texts are near in meaning; by default chosen from the texts.
        words: overlap of runs of three words from which two texts are nearly the same.
        max_length: tokens that the encoder reads of a text.
        seed: of hashes and samples.
        progress: called as texts are encoded.
    """
    one_of("by", by, BY, of="duplicates")
    at_least("max_length", max_length, 8, of="duplicates")
    between("words", words, 0.05, 1.0001, of="duplicates")
    if threshold is not None:
        between("threshold", threshold, 0, 1.0001, of="duplicates")
    same: dict[str, list[int]] = {}
    for place, text in enumerate(texts.texts):
        same.setdefault(normal(text), []).append(place)
    exact = list(same.values())
    joined = _Joined(len(exact))
    joined.join(near_by_words(list(same), least=words, seed=seed), "words")
    closeness = None
    if by == "both" and len(exact) > 1:
        firsts = [members[0] for members in exact]
        if texts.vectors is None:
            chosen = [texts.texts[place] for place in firsts]
            units = unit(encode(chosen, model, max_length=max_length, progress=progress))
        else:
            units = unit(texts.vectors[firsts])
        rows, cosines = nearest_others(units, _NEIGHBORS)
        if threshold is None:
            closeness = choose_closeness(cosines[joined.roots(), 0], seed=seed)
        else:
            closeness = Closeness(threshold, f"Cosine of at least {threshold:g}, as asked.")
        joined.join(_links(rows, cosines, closeness.threshold), "meaning", units)
    return Duplicates(texts, joined.groups(exact), closeness, words)


def _links(rows: NDArray[np.int64], cosines: NDArray[np.float32], least: float) -> Pairs:
    """Return each two neighbors that are near enough, once."""
    one, place = np.nonzero(cosines >= least)
    two = rows[one, place]
    pairs, first = np.unique(np.stack([np.minimum(one, two), np.maximum(one, two)]), axis=1, return_index=True)
    return pairs[0], pairs[1], cosines[one, place][first]


class _Joined:
    """Texts that were joined to groups, closest pairs first."""

    def __init__(self, count: int) -> None:
        self._parent = list(range(count))
        self._bond: dict[int, tuple[str, float]] = {}

    def root(self, place: int) -> int:
        """Return the text that stands for the group of this one."""
        while self._parent[place] != place:
            self._parent[place] = self._parent[self._parent[place]]
            place = self._parent[place]
        return place

    def roots(self) -> NDArray[np.int64]:
        """Return the texts that stand for a group, or for themselves."""
        return np.flatnonzero(np.array(self._parent) == np.arange(len(self._parent)))

    def join(self, pairs: Pairs, kind: str, units: NDArray[np.float32] | None = None) -> None:
        """Join the pairs; with vectors, two groups only where their means are as near as the pairs have to be.

        Without that a chain of small steps would tie together what has nothing in common.
        """
        order = np.argsort(-pairs[2], kind="stable")
        least = float(pairs[2].min()) if len(order) else 0.0
        sums: dict[int, NDArray[np.float32]] = {}
        if units is not None:
            for place in range(len(self._parent)):
                root = self.root(place)
                if root != place or root in sums:
                    sums[root] = sums.get(root, units[root]) + units[place]
        for one, two, alike in zip(*(each[order].tolist() for each in pairs), strict=True):
            first, second = sorted((self.root(one), self.root(two)))
            if first == second:
                continue
            if units is not None:
                left, right = sums.get(first, units[first]), sums.get(second, units[second])
                if float(left @ right) < least * float(np.linalg.norm(left) * np.linalg.norm(right)):
                    continue
                sums[first] = left + right
                sums.pop(second, None)
            self._parent[second] = first
            self._bond.pop(second, None)
            self._bond[first] = kind, alike

    def groups(self, exact: Sequence[Sequence[int]]) -> tuple[Group, ...]:
        """Return the groups with all their texts, the largest first."""
        members: dict[int, list[int]] = {}
        for place, same in enumerate(exact):
            members.setdefault(self.root(place), []).extend(same)
        found = []
        for root, places in members.items():
            if len(places) > 1:
                kind, alike = self._bond.get(root, ("exact", 1.0))
                found.append(Group(kind, min(alike, 1.0), tuple(sorted(places))))
        return tuple(sorted(found, key=lambda group: (-len(group.members), -group.similarity, group.members)))
