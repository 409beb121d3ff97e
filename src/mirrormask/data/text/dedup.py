"""Which rows say what an earlier row said: exact, in bounded memory for any number of rows.

A duplicate in a batch is a false negative: the loss would push a sentence away from itself.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mirrormask.data.text.store import ArrayReader, ArrayWriter

_SCAN = 1 << 18  # hashes read at once
_MOST_BUCKETS = 512  # files open at once


def text_key(texts: tuple[str, ...]) -> bytes:
    """Return 8 bytes that are equal for rows that differ only in case and white space.

    At 100 million rows the chance that any two different texts share a key is about 3 in 10,000.

    Example:
        >>> text_key(("A  cat",)) == text_key(("a cat ",)) != text_key(("a", "cat"))
        True
    """
    folded = "\0".join([" ".join(text.casefold().split()) for text in texts])
    return hashlib.blake2b(folded.encode("utf-8", "replace"), digest_size=8).digest()


class Deduplicator:
    """Rows come one by one; the first of its kind stays.

    Up to `in_memory` rows are compared at once, in a set. Past that every row is let through for the moment and only
    its key is kept, in a file; `removed` then sorts the keys out, bucket by bucket.

    Args:
        folder: where the keys may be kept for the time being.
        in_memory: rows compared in memory.
        bucket_rows: about how many rows are sorted at once after that.
    """

    def __init__(self, folder: Path, *, in_memory: int = 200_000, bucket_rows: int = 1 << 19) -> None:
        self._folder = folder
        self._in_memory = in_memory
        self._bucket_rows = bucket_rows
        self._seen: set[bytes] | None = set()
        self._keys = ArrayWriter(folder / "keys.npy", np.uint64)

    def is_new(self, texts: tuple[str, ...]) -> bool:
        """Note the next row and return False if it is known to repeat an earlier one."""
        key = text_key(texts)
        if self._seen is not None:
            if key in self._seen:
                return False
            self._seen.add(key)
            if len(self._seen) > self._in_memory:
                self._seen = None
        self._keys.extend_bytes(key)
        return True

    def removed(self) -> NDArray[np.uint8] | None:
        """Return one bit for each row let through (little-endian bits), set where it repeats an earlier row.

        None means that no row does. The bits of 100 million rows take 12.5 MB.
        """
        if self._seen is not None:
            self._keys.abandon()
            return None
        keys = self._keys.finish()
        try:
            bits = np.zeros(-(-len(keys) // 8), dtype=np.uint8)
            for bucket in self._buckets(keys):
                rows = repeated_rows(bucket[:, 0], bucket[:, 1])
                np.bitwise_or.at(bits, rows >> np.uint64(3), np.uint8(1) << (rows & np.uint64(7)).astype(np.uint8))
        finally:
            keys.close()
            keys.path.unlink()
        return bits if bits.any() else None

    def abandon(self) -> None:
        """Close and remove the file of keys."""
        self._keys.abandon()

    def _buckets(self, keys: ArrayReader) -> Iterator[NDArray[np.uint64]]:
        """Yield (key, row) pairs in parts by the first bits of the key: equal keys meet, rows in their order."""
        wanted = -(-len(keys) // self._bucket_rows)
        digits = min((wanted - 1).bit_length(), _MOST_BUCKETS.bit_length() - 1)
        if digits == 0:
            yield np.stack([keys.slice(0, len(keys)), np.arange(len(keys), dtype=np.uint64)], axis=1)
            return
        for path in _spread(keys, [self._folder / f"bucket-{number}" for number in range(1 << digits)], digits):
            yield np.fromfile(path, dtype=np.uint64).reshape(-1, 2)
            path.unlink()


def _spread(keys: ArrayReader, paths: list[Path], digits: int) -> list[Path]:
    """Write the (key, row) pairs into one file for each value of the first `digits` bits."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(path.open("wb", buffering=1 << 14)) for path in paths]
        for start in range(0, len(keys), _SCAN):
            block = keys.slice(start, min(start + _SCAN, len(keys)))
            pairs = np.stack([block, np.arange(start, start + len(block), dtype=np.uint64)], axis=1)
            numbers = (block >> np.uint64(64 - digits)).astype(np.int64)
            pairs = pairs[np.argsort(numbers, kind="stable")]
            ends = np.cumsum(np.bincount(numbers, minlength=len(files)))
            for file, part in zip(files, np.split(pairs, ends[:-1]), strict=True):
                file.write(part.data)
    return paths


def repeated_rows(keys: NDArray[np.uint64], rows: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the rows whose key an earlier row has; `rows` must ascend.

    Example:
        >>> repeated_rows(np.array([5, 9, 5, 5], np.uint64), np.array([0, 1, 2, 7], np.uint64)).tolist()
        [2, 7]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    return rows[order[1:][ordered[1:] == ordered[:-1]]]
