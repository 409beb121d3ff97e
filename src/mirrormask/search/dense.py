"""Vectors on disk, found by faiss: exact while few, by a graph of neighbors (HNSW) when many, in pieces.

A piece holds at most `PIECE` rows, so that building a million takes the memory of one piece, and an addition rebuilds
the last one only. Pieces are memory-mapped: a search reads the rows it meets.

Paper: Malkov and Yashunin 2020, "Efficient and robust approximate nearest neighbor search using hierarchical navigable
small world graphs"; Gao and Long 2024, "RaBitQ: Quantizing high-dimensional vectors with a theoretical error bound"
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError
from mirrormask.search.asked import Floats, Mask, Rows
from mirrormask.search.fusion import concentration
from mirrormask.search.storing import Storing

PIECE = 131_072
EXACT = 20_000
"""Rows up to which a piece, or what a condition allows, is searched exactly."""

NEIGHBORS = 32
_BREADTHS = (128, 256, 512)  # of a search, from quick to thorough
_ENOUGH, _TRIALS = 0.985, 64
_MOMENTS, _CONCENTRATION = "moments.npy", "concentration.npy"
_BLOCK = 8192


class DenseWriter:
    """Writes vectors below a folder, block after block.

    Args:
        folder: is made.
        storing: how vectors are kept, fitted.
        old: vectors that come first, already stored; whole pieces of them are linked, not copied.
    """

    def __init__(self, folder: Path, storing: Storing, old: Dense | None = None) -> None:
        self.folder, self.storing = folder, storing
        self.rows, self._pieces, self._piece = 0, 0, None
        self._breadth = old.breadth if old is not None else 0
        folder.mkdir()
        storing.write(folder)
        for number, path in enumerate(old.paths if old is not None else []):
            piece = old.pieces[number]  # type: ignore[union-attr]
            self.rows += piece.ntotal
            if piece.ntotal < PIECE:
                self._piece = _faiss().read_index(str(path))
            else:
                linked(path, folder / path.name)
                self._pieces += 1

    def add(self, vectors: Floats) -> None:
        """Append vectors (n, d) as the encoder gives them, of length 1 where it is made for cosines."""
        ready = self.storing.shortened(vectors)
        while len(ready):
            if self._piece is None:
                self._piece = self.storing.piece()
            room = PIECE - self._piece.ntotal
            self._grow(ready[:room])
            self.rows += min(room, len(ready))
            ready = ready[room:]
            if self._piece.ntotal == PIECE:
                self._close()

    def finish(self) -> Dense:
        """Write what is open and return a reader of everything."""
        if self._piece is not None:
            self._close()
        np.save(self.folder / "breadth.npy", np.array(self._breadth or _BREADTHS[0]))
        some = Dense(self.folder, self.storing).evenly(EXACT)
        np.save(self.folder / _MOMENTS, moments_of(some))
        np.save(self.folder / _CONCENTRATION, np.float32(concentration(some)))
        return Dense(self.folder, self.storing)

    def _grow(self, vectors: Floats) -> None:
        piece: Any = self._piece
        if not hasattr(piece, "hnsw") and self.storing.graph and piece.ntotal + len(vectors) > EXACT:
            few = piece.reconstruct_n(0, piece.ntotal) if piece.ntotal else vectors[:0]
            piece = self.storing.piece(neighbors=NEIGHBORS)
            if len(few):
                piece.add(few)
            self._piece = piece
        piece.add(np.ascontiguousarray(vectors))

    def _close(self) -> None:
        piece: Any = self._piece
        if hasattr(piece, "hnsw") and not self._breadth:
            self._breadth = breadth_for(piece)
        _faiss().write_index(piece, str(self.folder / f"{self._pieces:04d}.faiss"))
        self._pieces += 1
        self._piece = None


class Dense:
    """Vectors that were written, memory-mapped.

    Args:
        folder: where they are.
        storing: how they are kept.

    Raises:
        DataError: a file of them is damaged.
    """

    def __init__(self, folder: Path, storing: Storing) -> None:
        faiss = _faiss()
        self.paths = sorted(folder.glob("*.faiss"))
        self.storing = storing
        try:
            self.pieces = [faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC) for path in self.paths]
            self.breadth = int(np.load(folder / "breadth.npy"))
            moments = folder / _MOMENTS
            self._moments = np.load(moments) if moments.is_file() else None  # the mean, below it the covariance
            self.concentration = float(np.load(folder / _CONCENTRATION)) if moments.is_file() else 1.0
        except (RuntimeError, OSError, ValueError) as error:
            why = str(error).splitlines()[0][-120:]
            raise DataError(f"The vectors in {folder} cannot be read ({why}). Index the texts again.") from error
        self._first = np.cumsum([0, *[piece.ntotal for piece in self.pieces]])

    def __len__(self) -> int:
        return int(self._first[-1])

    def search(self, queries: Floats, top: int, allowed: Mask | None = None) -> tuple[Floats, Rows]:
        """Return the scores and rows of the nearest vectors of each query (q, top), best first; row -1 is none.

        Args:
            queries: (q, d), as the encoder gives them.
            top: how many.
            allowed: which rows count (n,); the others are never met, so that `top` are found where there are as many.
        """
        ready = self.storing.shortened(queries)
        top = min(top, len(self))
        if allowed is not None and (few := np.flatnonzero(allowed)).size <= EXACT:
            return self._among(ready, few, top)
        found = [self._in_piece(number, ready, top, allowed) for number in range(len(self.pieces))]
        scores = np.concatenate([each[0] for each in found], axis=1) if found else np.zeros((len(ready), 0), np.float32)
        rows = np.concatenate([each[1] for each in found], axis=1) if found else np.zeros((len(ready), 0), np.int64)
        return _best(scores, rows, top)

    def vectors(self, rows: Rows) -> Floats:
        """Return vectors (n, d) as they are stored."""
        if len(self.pieces) == 1:
            found: Floats = self.pieces[0].reconstruct_batch(np.ascontiguousarray(rows, dtype=np.int64))
            return found
        out = np.empty((len(rows), self.storing.width), dtype=np.float32)
        which = np.searchsorted(self._first, rows, side="right") - 1
        for number in np.unique(which).tolist():
            own = which == number
            out[own] = self.pieces[number].reconstruct_batch(rows[own] - self._first[number])
        return out

    def compared(self, query: Floats, rows: Rows) -> tuple[Floats, Floats]:
        """Return how near some rows are to one query (n,), and their vectors (n, d) as they are stored."""
        held = self.vectors(rows)
        return held @ self.storing.shortened(query[None])[0], held

    def moments(self, queries: Floats) -> tuple[Floats, Floats]:
        """Return the mean and the deviation of all rows' scores for each query, from the vectors' own moments."""
        assert self._moments is not None
        return scores_by(self._moments, self.storing.shortened(queries))

    def evenly(self, most: int) -> Floats:
        """Return vectors of evenly spaced rows, in their order: all of them where there are no more than `most`."""
        return self.vectors(np.unique(np.linspace(0, len(self) - 1, min(most, len(self))).astype(np.int64)))

    def _in_piece(self, number: int, queries: Floats, top: int, allowed: Mask | None) -> tuple[Floats, Rows]:
        faiss = _faiss()
        piece, first = self.pieces[number], self._first[number]
        options: dict[str, Any] = {}
        breadth = max(self.breadth, top)
        if allowed is not None:
            own = np.ascontiguousarray(allowed[first : first + piece.ntotal])
            share = own.mean()
            if not share:
                return np.full((len(queries), 0), -np.inf, np.float32), np.full((len(queries), 0), -1, np.int64)
            bits = np.packbits(own, bitorder="little")
            options["sel"] = faiss.IDSelectorBitmap(bits)
            breadth = int(min(breadth / share, 8 * breadth))
        graph = hasattr(piece, "hnsw")
        kind = faiss.SearchParametersHNSW if graph else faiss.SearchParameters
        params = kind(**options, **({"efSearch": breadth} if graph else {})) if options or graph else None
        if self.storing.kind == "binary":
            params = faiss.RaBitQSearchParameters(**options) if options else None
        scores, rows = piece.search(queries, min(top, piece.ntotal), params=params)
        return scores, np.where(rows >= 0, rows + first, -1)

    def _among(self, queries: Floats, rows: Rows, top: int) -> tuple[Floats, Rows]:
        """Search a few rows exactly."""
        scores = np.empty((len(queries), len(rows)), dtype=np.float32)
        for start in range(0, len(rows), _BLOCK):
            own = rows[start : start + _BLOCK]
            scores[:, start : start + len(own)] = queries @ self.vectors(own).T
        return _best(scores, np.broadcast_to(rows, scores.shape), min(top, len(rows)))


def moments_of(vectors: Floats) -> Floats:
    """Return the mean of vectors (n, d) and, below it, their covariance (1 + d, d)."""
    mean = vectors.mean(0)
    found: Floats = np.vstack([mean, (vectors - mean).T @ (vectors - mean) / len(vectors)]).astype(np.float32)
    return found


def scores_by(moments: Floats, queries: Floats) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the scores that vectors with such moments have for each query."""
    mean, spread = moments[0], moments[1:]
    return queries @ mean, np.sqrt(np.maximum(((queries @ spread) * queries).sum(1), 1e-12))


def linked(source: Path, target: Path) -> None:
    """Let a file that is never changed appear in a second place; where the file system has no links, as a copy."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def breadth_for(piece: Any) -> int:
    """Return how broadly a graph must be searched to find nearly all of the ten nearest, tried on rows of its own.

    The queries are mixtures of two rows, which lie between the texts as a user's questions do.
    """
    rng = np.random.default_rng(0)
    one, other = (piece.reconstruct_batch(rng.integers(0, piece.ntotal, _TRIALS)) for _ in range(2))
    queries = one + 0.8 * other
    truth = piece.storage.search(queries, 10)[1]
    for breadth in _BREADTHS:
        found = piece.search(queries, 10, params=_faiss().SearchParametersHNSW(efSearch=breadth))[1]
        if np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, truth, strict=True)]) >= _ENOUGH:
            break
    return breadth


def _best(scores: Floats, rows: Rows, top: int) -> tuple[Floats, Rows]:
    order = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)


def _faiss() -> Any:
    import faiss

    return faiss
