"""Vectors that an unfinished build had encoded already: kept beside the index until it is whole.

A build that was stopped begins again with the same encoder; a passage that it meets with the same text is not encoded
twice.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.storage import atomic_file, read_json, write_json
from mirrormask.search.library import digest

Floats = NDArray[np.float32]
Keys = NDArray[np.uint64]

_FACTS, _KEYS, _VECTORS = "encoder.json", ".keys.npy", ".vectors.npy"

STEP = 1024
"""Passages encoded between two writes."""


class Encoded:
    """Keeps what is encoded below a folder, block by block, and knows what is there.

    Args:
        folder: is made; what another encoder left there is removed.
        facts: everything that decides a text's vector, its `width` among it.
    """

    def __init__(self, folder: Path, facts: dict[str, Any]) -> None:
        self.folder, self._width = folder, int(facts["width"])
        self.found = 0
        if not _is_of(folder, facts):
            self.remove()
            folder.mkdir()
            write_json(folder / _FACTS, facts)
        paths = sorted(folder.glob(f"*{_KEYS}"))
        keys = [np.load(path) for path in paths]
        self._blocks = [np.load(str(path).replace(_KEYS, _VECTORS), mmap_mode="r") for path in paths]
        joined = np.concatenate([np.zeros(0, np.uint64), *keys])
        order = np.argsort(joined)
        sizes = [len(each) for each in keys]
        self._keys, self._block = joined[order], np.repeat(np.arange(len(keys)), sizes)[order]
        self._row = np.concatenate([np.zeros(0, np.int64), *map(np.arange, sizes)])[order]

    def __len__(self) -> int:
        """Return the number of blocks that are there."""
        return len(list(self.folder.glob(f"*{_KEYS}")))

    def has(self, texts: Sequence[str]) -> NDArray[np.bool_]:
        """Say for each of some texts whether its vector is there."""
        return self._places(_keys(texts))[1]

    def vectors(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Floats]) -> Floats:
        """Return the vectors (n, d) of texts: those that are there from disk, the others encoded, and kept."""
        starts = range(0, len(texts), STEP)
        return np.concatenate([self._some(texts[start : start + STEP], encode) for start in starts])

    def remove(self) -> None:
        """Leave nothing."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _some(self, texts: Sequence[str], encode: Callable[[Sequence[str]], Floats]) -> Floats:
        keys = _keys(texts)
        places, known = self._places(keys)
        out = np.empty((len(texts), self._width), dtype=np.float32)
        for number, place in zip(np.flatnonzero(known).tolist(), places[known].tolist(), strict=True):
            out[number] = self._blocks[self._block[place]][self._row[place]]
        if not known.all():
            out[~known] = encode([text for text, there in zip(texts, known.tolist(), strict=True) if not there])
            _write(self.folder / f"{len(self):06d}", keys[~known], out[~known])
        self.found += int(known.sum())
        return out

    def _places(self, keys: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Return where the vectors of some keys are, and which of them are there at all."""
        places = np.searchsorted(self._keys, keys)
        known = np.append(self._keys, np.uint64(0))[places] == keys
        return places, known & (places < len(self._keys))


def keep(folder: Path, name: str, texts: Sequence[str], vectors: Floats) -> None:
    """Write the vectors of texts for whoever opens the folder next; a worker does this for its shard.

    Args:
        folder: as for `Encoded`.
        name: says which texts these are, so that no two shards have the same.
        texts: that were encoded.
        vectors: theirs (n, d).
    """
    _write(folder / name, _keys(texts), vectors)


def _keys(texts: Sequence[str]) -> Keys:
    return np.array([digest(text) for text in texts], dtype=np.uint64)


def _write(path: Path, keys: Keys, vectors: Floats) -> None:
    for ending, array in ((_VECTORS, vectors), (_KEYS, keys)):  # keys last: they say that the vectors are whole
        with atomic_file(Path(f"{path}{ending}"), "wb") as stream:
            np.save(stream, array)


def _is_of(folder: Path, facts: dict[str, Any]) -> bool:
    """Say whether a folder holds what an encoder with these facts encoded."""
    try:
        return bool(read_json(folder / _FACTS) == facts)
    except (OSError, ValueError):
        return False
