"""Texts that are nearly the same, word for word: found by MinHash, without comparing all with all.

A text is the set of its runs of three words. Two texts agree in a MinHash with the chance that is the share of runs
they have in common (Jaccard), so those that agree in all hashes of some band are compared, and no others.

Paper: Broder 1997, "On the Resemblance and Containment of Documents"; Leskovec et al. 2020, "Mining of Massive
    Datasets", section 3.4 (bands)
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.seeding import generator

Pairs = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]
"""Rows of two texts each, and how alike they are."""

RUN = 3
BANDS, ROWS = 24, 3
"""Texts that share seven tenths of their runs agree in some band with a chance of 0.9999, those with a tenth: 0.02."""

_PRIME = np.uint64((1 << 31) - 1)
_MOST_IN_A_BUCKET = 60  # texts compared with one another; of more, each is compared with the first ones
_BLOCK = 2048  # texts hashed at once
_WORDS = re.compile(r"[^\W_]+")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def normal(text: str) -> str:
    """Return a text without case, punctuation, accents of width, and white space but for one blank between words.

    Example:
        >>> normal("  The “Cat”, sat\\tDOWN! "), normal("ｆｕｌｌ width")
        ('the cat sat down', 'full width')
    """
    return " ".join(_WORDS.findall(unicodedata.normalize("NFKC", text).casefold())) or text.strip()


def near_by_words(texts: Sequence[str], *, least: float, seed: int = 42) -> Pairs:
    """Return the pairs of texts whose runs of words overlap by `least` or more.

    Args:
        texts: normal ones, all different.
        least: Jaccard overlap, between 0 and 1.
        seed: decides the hashes.
    """
    runs = [_runs(text) for text in texts]
    signatures = _signatures(runs, seed)
    seen: set[tuple[int, int]] = set()
    found: list[tuple[int, int, float]] = []
    for band in range(BANDS):
        for pair in _same(signatures[:, band * ROWS : (band + 1) * ROWS]):
            if pair not in seen:
                seen.add(pair)
                overlap = _jaccard(runs[pair[0]], runs[pair[1]])
                if overlap >= least:
                    found.append((*pair, overlap))
    found.sort()
    first, second, overlaps = zip(*found, strict=True) if found else ((), (), ())
    return np.array(first, np.int64), np.array(second, np.int64), np.array(overlaps, np.float32)


def _runs(text: str) -> NDArray[np.uint32]:
    """Return the hashes of a text's different runs of words, sorted; of characters where words are not set apart."""
    words = list(text.replace(" ", "")) if _DENSE.search(text) else text.split()
    pieces = {" ".join(words[start : start + RUN]) for start in range(max(1, len(words) - RUN + 1))}
    return np.unique(np.array([zlib.crc32(piece.encode("utf-8", "replace")) for piece in pieces], dtype=np.uint32))


def _signatures(runs: Sequence[NDArray[np.uint32]], seed: int) -> NDArray[np.uint32]:
    """Return the smallest value of every hash function over each text's runs (n, bands · rows)."""
    random = generator(seed, "minhash")
    factors, shifts = random.integers(1, int(_PRIME), size=(2, BANDS * ROWS), dtype=np.uint64)
    out = np.empty((len(runs), BANDS * ROWS), dtype=np.uint32)
    for start in range(0, len(runs), _BLOCK):
        block = runs[start : start + _BLOCK]
        joined = np.concatenate(block).astype(np.uint64) % _PRIME
        edges = np.cumsum([0, *(len(each) for each in block[:-1])])
        for place, (factor, shift) in enumerate(zip(factors, shifts, strict=True)):
            out[start : start + _BLOCK, place] = np.minimum.reduceat((joined * factor + shift) % _PRIME, edges)
    return out


def _same(band: NDArray[np.uint32]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of rows that are equal in a band."""
    order = np.lexsort(band.T)
    ordered = band[order]
    starts = np.flatnonzero(np.r_[True, np.any(ordered[1:] != ordered[:-1], axis=1)])
    ends = np.r_[starts[1:], len(order)]
    for start, end in zip(starts[ends - starts > 1].tolist(), ends[ends - starts > 1].tolist(), strict=True):
        members = np.sort(order[start:end]).tolist()
        for place, one in enumerate(members[:_MOST_IN_A_BUCKET]):
            yield from ((one, other) for other in members[place + 1 :])


def _jaccard(one: NDArray[np.uint32], two: NDArray[np.uint32]) -> float:
    if min(len(one), len(two)) < 0.1 * max(len(one), len(two)):
        return 0.0
    common = len(np.intersect1d(one, two, assume_unique=True))
    return common / (len(one) + len(two) - common)
