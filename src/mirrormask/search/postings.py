"""Which passages hold which terms, and how often: sorted terms and plain arrays on disk, written in bounded memory.

A folder of postings is never changed. What is added later has a folder of its own, and `merge` makes one of several.
"""

from __future__ import annotations

import itertools
import shutil
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.data.text.store import ArrayWriter
from mirrormask.search.analysis import Analyzer
from mirrormask.search.by_passage import FILES, ByPassage, write_joined

Numbers = NDArray[np.int64]
Mask = NDArray[np.bool_]

_FILES = ("letters", "edges", "keys", "starts", "passages", "counts", "lengths")
_MOST = np.iinfo(np.uint16).max
_BLOCK = 4_000_000  # terms in memory before they are written, and postings merged at a time


@dataclass(frozen=True)
class Postings:
    """The terms of n passages.

    Args:
        letters: all terms in UTF-8, sorted, one after another.
        edges: where each term begins in `letters`, and the end of the last one (t + 1,).
        keys: the first eight letters of each term as a number, by which terms are looked up (t,).
        starts: where the passages of each term begin, and the end of the last ones (t + 1,).
        passages: numbers of the passages that hold each term, ascending (p,).
        counts: how often they hold it, at most 65,535 (p,).
        lengths: number of terms of each passage (n,).
        turned: the same by passage, where it was written; `by_passage` makes it otherwise.
    """

    letters: NDArray[np.uint8]
    edges: Numbers
    keys: NDArray[np.uint64]
    starts: Numbers
    passages: NDArray[np.int32]
    counts: NDArray[np.uint16]
    lengths: NDArray[np.int32]
    turned: ByPassage | None = None

    @classmethod
    def open(cls, folder: Path) -> Postings:
        """Open what a `PostingsWriter` or `merge` wrote; the arrays are mapped, and read where a search needs them.

        Raises:
            DataError: files are missing or cut short.
        """
        try:
            there = (folder / f"{FILES[0]}.npy").is_file()  # the first version did not write them
            turned = ByPassage(*(_mapped(folder / f"{name}.npy") for name in FILES)) if there else None
            arrays: dict[str, Any] = {name: _mapped(folder / f"{name}.npy") for name in _FILES}
            found = cls(**arrays | {"turned": turned})
        except (OSError, ValueError) as error:
            raise DataError(f"The words in {folder} cannot be read: {error}. Build the index again.") from error
        ends = (
            int(found.edges[-1]),
            int(found.starts[-1]),
            int(found.starts[-1]),
            len(found.edges),
            len(found.keys) + 1,
        )
        if ends != (len(found.letters), len(found.passages), len(found.counts), len(found.starts), len(found.starts)):
            raise DataError(f"The words in {folder} belong to different indexes. Build the index again.")
        if turned is not None and (len(turned.begins) != len(found) + 1 or len(turned.terms) != len(found.passages)):
            raise DataError(f"The words in {folder} belong to different indexes. Build the index again.")
        return found

    @cached_property
    def by_passage(self) -> ByPassage:
        """Return the terms of each passage."""
        return self.turned or ByPassage.of(self.starts, self.passages, self.counts, len(self))

    def save(self, folder: Path) -> None:
        """Write the arrays into a folder that is there."""
        for name in _FILES:
            np.save(folder / f"{name}.npy", getattr(self, name))
        self.by_passage.save(folder)

    def __len__(self) -> int:
        return len(self.lengths)

    def term(self, number: int) -> bytes:
        """Return a term by its place in the order."""
        return self.letters[self.edges[number] : self.edges[number + 1]].tobytes()

    def names(self, numbers: Any) -> list[str]:
        """Return some terms by their places in the order."""
        edges = zip(self.edges[numbers].tolist(), self.edges[numbers + 1].tolist(), strict=True)
        return [self.letters[begin:end].tobytes().decode("utf-8") for begin, end in edges]

    def numbers(self, terms: Sequence[str]) -> Numbers:
        """Return the place of each term in the order (n,); -1 for one that no passage holds."""
        coded = [term.encode("utf-8", "replace") for term in terms]
        keys = np.array(coded, dtype="S8").view(">u8").astype(np.uint64)
        first, last = (np.searchsorted(self.keys, keys, side) for side in ("left", "right"))
        known = first < last
        for place in [place for place, term in enumerate(coded) if len(term) > 7 and known[place]]:
            first[place] = bisect_left(range(last[place]), coded[place], first[place], key=self.term)
            known[place] = first[place] < last[place] and self.term(int(first[place])) == coded[place]
        return np.where(known, first, -1)

    def sizes(self, numbers: Any) -> Numbers:
        """Return how many passages hold each of some terms (n,), given by `numbers`."""
        return np.where(numbers < 0, 0, self.starts[numbers + 1] - self.starts[numbers])

    def vocabulary(self) -> list[bytes]:
        """Return all terms in their order."""
        letters, edges = self.letters.tobytes(), self.edges.tolist()
        return [letters[start:end] for start, end in itertools.pairwise(edges)]


class _Numbered(dict[str, int]):
    """Terms by number, in the order in which they are met."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


class PostingsWriter:
    """Writes the postings of passages, one after another, below a folder of its own.

    Args:
        folder: is made; it is complete once `finish` returned.
        analyzer: makes terms of texts.
    """

    def __init__(self, folder: Path, analyzer: Analyzer) -> None:
        self.folder, self.analyzer = folder, analyzer
        folder.mkdir(parents=True)
        self._runs: list[Path] = []
        self._clear()

    def add(self, text: str) -> None:
        """Append a passage."""
        terms = self.analyzer.terms(text)
        self._lengths.append(len(terms))
        self._terms.extend(map(self._numbers.__getitem__, terms))
        if len(self._terms) >= _BLOCK:
            run = self.folder / f"run-{len(self._runs)}"
            run.mkdir()
            self._gathered().save(run)
            self._runs.append(run)
            self._clear()

    def finish(self) -> Postings:
        """Write what is left, make one of all runs and return it."""
        rest = self._gathered()
        self._clear()
        if self._runs:
            merge([*map(Postings.open, self._runs), rest], self.folder)
        else:
            rest.save(self.folder)
        for run in self._runs:
            shutil.rmtree(run)
        return Postings.open(self.folder)

    def _clear(self) -> None:
        self._numbers, self._lengths = _Numbered(), array("q")
        self._terms = array("q")

    def _gathered(self) -> Postings:
        return _postings(self._numbers, np.array(self._terms, np.int64), np.array(self._lengths, np.int64))


def postings_of(texts: Iterable[str], analyzer: Analyzer) -> Postings:
    """Return the postings of texts in memory, for collections that have room there."""
    numbers, terms, lengths = _Numbered(), array("q"), array("q")
    for text in texts:
        found = analyzer.terms(text)
        lengths.append(len(found))
        terms.extend(map(numbers.__getitem__, found))
    return _postings(numbers, np.array(terms, np.int64), np.array(lengths, np.int64))


def _postings(numbers: dict[str, int], terms: Numbers, lengths: Numbers) -> Postings:
    """Return postings of passages, given the numbers of all their terms in order and how many each passage has."""
    coded = [term.encode("utf-8", "replace") for term in numbers]
    order = sorted(range(len(coded)), key=coded.__getitem__)
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.arange(len(order))
    many = max(len(lengths), 1)
    keys, counts = np.unique(ranks[terms] * many + np.repeat(np.arange(len(lengths)), lengths), return_counts=True)
    return Postings(
        *_spelled([coded[number] for number in order]),
        starts=np.append(0, np.cumsum(np.bincount(keys // many, minlength=len(order)))),
        passages=(keys % many).astype(np.int32),
        counts=np.minimum(counts, _MOST).astype(np.uint16),
        lengths=lengths.astype(np.int32),
    )


def merge(parts: Sequence[Postings], folder: Path, kept: Sequence[Mask] | None = None) -> None:
    """Write the postings of several parts as one, their passages one part after another.

    Args:
        parts: what to merge.
        folder: exists, and holds no postings yet.
        kept: for each part, which passages stay; the others are left out and the rest move up. None: all stay.
    """
    masks = kept if kept is not None else [np.ones(len(part), dtype=np.bool_) for part in parts]
    offsets = np.cumsum([0, *(int(mask.sum()) for mask in masks)])
    moved = [np.where(mask, np.cumsum(mask) - 1 + offset, -1) for mask, offset in zip(masks, offsets[:-1], strict=True)]
    vocabularies = [part.vocabulary() for part in parts]
    order = sorted(set().union(*vocabularies))
    ranks = {term: rank for rank, term in enumerate(order)}
    places = [np.fromiter(map(ranks.__getitem__, terms), np.int64, len(terms)) for terms in vocabularies]
    del vocabularies, ranks
    sizes = np.zeros(len(order), dtype=np.int64)
    for part, place in zip(parts, places, strict=True):
        sizes[place] += np.diff(part.starts)
    passages, counts = ArrayWriter(folder / "passages.npy", np.int32), ArrayWriter(folder / "counts.npy", np.uint16)
    stay = np.zeros(len(order), dtype=np.int64)
    first = 0
    while first < len(order):
        last = first + max(1, int(np.searchsorted(np.cumsum(sizes[first:]), _BLOCK, side="right")))
        blocks = [
            _block(part, place, np.searchsorted(place, (first, last)), moves)
            for part, place, moves in zip(parts, places, moved, strict=True)
        ]
        terms, numbers, often = (np.concatenate(column) for column in zip(*blocks, strict=True))
        sequence = np.argsort(terms, kind="stable")
        passages.extend(numbers[sequence])
        counts.extend(often[sequence])
        stay[first:last] = np.bincount(terms - first, minlength=last - first)
        first = last
    passages.finish().close()
    counts.finish().close()
    renumbered = np.cumsum(stay > 0) - 1
    turned = (
        (part.by_passage, renumbered[place], mask) for part, place, mask in zip(parts, places, masks, strict=True)
    )
    write_joined(turned, folder)
    used = [term for term, size in zip(order, stay.tolist(), strict=True) if size]
    lengths = [part.lengths[mask] for part, mask in zip(parts, masks, strict=True)]
    letters, edges, keys = _spelled(used)
    np.save(folder / "letters.npy", letters)
    np.save(folder / "edges.npy", edges)
    np.save(folder / "keys.npy", keys)
    np.save(folder / "starts.npy", np.append(0, np.cumsum(stay[stay > 0])))
    np.save(folder / "lengths.npy", np.concatenate(lengths))


def _block(part: Postings, place: Numbers, ends: Numbers, moved: Numbers) -> tuple[Numbers, Numbers, Any]:
    """Return term, new passage and count of the postings that stay, of one part's terms between two `ends`."""
    start, end = ends.tolist()
    edges = part.starts[start : end + 1]
    numbers = moved[part.passages[edges[0] : edges[-1]]]
    stay = numbers >= 0
    return np.repeat(place[start:end], np.diff(edges))[stay], numbers[stay], part.counts[edges[0] : edges[-1]][stay]


def _spelled(terms: list[bytes]) -> tuple[NDArray[np.uint8], Numbers, NDArray[np.uint64]]:
    """Return the letters of terms one after another, where each begins, and their keys."""
    letters = np.frombuffer(b"".join(terms), dtype=np.uint8)
    keys = np.frombuffer(b"".join(term[:8].ljust(8, b"\0") for term in terms), dtype=">u8").astype(np.uint64)
    return letters, np.cumsum([0, *map(len, terms)], dtype=np.int64), keys


def _mapped(path: Path) -> NDArray[Any]:
    """Return an array on disk without reading it; a map of nothing cannot be made."""
    found = np.load(path, mmap_mode="r") if path.stat().st_size > 128 else np.load(path)
    return np.asarray(found)
