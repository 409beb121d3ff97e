"""How vectors are kept: whole, in half precision, in bytes or bits, or cut short, and what that loses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, one_of

Floats = NDArray[np.float32]

KINDS = ("fp32", "fp16", "int8", "binary")
_FITTED = ("directions", "marks")
_MARGIN = 0.1  # by which bytes reach beyond the values of a sample, on both sides


class Storing:
    """One way to keep vectors.

    Args:
        kind: `fp32`, `fp16`, `int8` (a byte a number) or `binary` (a bit a number).
        dimensions: numbers kept of each vector, along the directions in which the collection varies most; None: all.
        width: numbers of a stored vector, once fitted.
        directions: fitted (d, dimensions), where vectors are cut short.
        marks: fitted (k, width): the least and the largest values for bytes, the mean for bits.
    """

    def __init__(
        self,
        kind: str = "fp16",
        dimensions: int | None = None,
        *,
        width: int = 0,
        directions: Floats | None = None,
        marks: Floats | None = None,
    ) -> None:
        self.kind = one_of("vectors", kind, KINDS, of="an index")
        if dimensions is not None and dimensions < 1:
            raise MirrormaskError(f"The 'dimensions' of an index must be at least 1. Got {dimensions}.")
        self.dimensions, self.width, self.directions, self.marks = dimensions, width, directions, marks

    @property
    def graph(self) -> bool:
        """Say whether many of these are searched by a graph; bits are scanned, which is quick."""
        return self.kind != "binary"

    @property
    def bytes_each(self) -> float:
        """Return the bytes that one vector takes."""
        return self.width * {"fp32": 4, "fp16": 2, "int8": 1, "binary": 0.125}[self.kind]

    def fit(self, vectors: Floats) -> Storing:
        """Return this way fitted to some vectors of a collection.

        Raises:
            MirrormaskError: more dimensions are asked for than vectors have.
        """
        width = vectors.shape[1]
        if self.dimensions is not None and self.dimensions > width:
            raise MirrormaskError(f"Vectors of this encoder have {width} numbers. Got --dimensions {self.dimensions}.")
        directions = None
        if self.dimensions is not None and self.dimensions < width:
            # uncentered, so that products of what is kept come nearest to products of the whole vectors
            _, found = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
            directions = np.ascontiguousarray(found[:, ::-1][:, : self.dimensions], dtype=np.float32)
            vectors, width = vectors @ directions, self.dimensions
        marks = vectors.mean(0, keepdims=True) if self.kind == "binary" else np.stack([vectors.min(0), vectors.max(0)])
        return Storing(self.kind, self.dimensions, width=width, directions=directions, marks=marks)

    def shortened(self, vectors: Floats) -> Floats:
        """Return vectors of the encoder (n, d) as they are compared (n, width); stored ones stay as they are."""
        ready = np.ascontiguousarray(vectors, dtype=np.float32)
        if self.directions is None or ready.shape[1] == self.width:
            return ready
        return np.ascontiguousarray(ready @ self.directions)

    def piece(self, neighbors: int = 0) -> Any:
        """Return an empty faiss index for such vectors.

        Args:
            neighbors: of a row in a graph; 0 makes an index that is searched exactly.
        """
        import faiss as library

        faiss: Any = library  # its types know less than it does
        made: Any
        product = faiss.METRIC_INNER_PRODUCT
        if self.kind == "binary":
            made = faiss.IndexRaBitQ(self.width, product)
        elif self.kind == "fp32":
            made = faiss.IndexHNSWFlat(self.width, neighbors, product) if neighbors else faiss.IndexFlatIP(self.width)
        else:
            bits = faiss.ScalarQuantizer.QT_fp16 if self.kind == "fp16" else faiss.ScalarQuantizer.QT_8bit
            if neighbors:
                made = faiss.IndexHNSWSQ(self.width, bits, neighbors, product)
            else:
                made = faiss.IndexScalarQuantizer(self.width, bits, product)
        if self.kind == "int8":
            store = faiss.downcast_index(made.storage) if neighbors else made
            store.sq.rangestat_arg = _MARGIN
        made.train(np.ascontiguousarray(self.marks))
        return made

    def loss(self, vectors: Floats, *, top: int = 10, queries: int = 100) -> float:
        """Return the share of the `top` nearest by whole vectors that is not found by the stored ones.

        Args:
            vectors: some of the collection, whole.
            top: how many nearest count.
            queries: how many of the vectors, evenly spaced, look for their nearest among the others.
        """
        rows = np.unique(np.linspace(0, len(vectors) - 1, queries).astype(np.int64))
        ready = self.shortened(vectors)
        stored = self.piece()
        stored.add(ready)
        products = vectors[rows] @ vectors.T
        products[np.arange(len(rows)), rows] = -np.inf
        top = min(top, len(vectors) - 1)
        if top < 1:
            return 0.0
        truth = np.argsort(-products, axis=1, kind="stable")[:, :top]
        found = stored.search(ready[rows], top + 1)[1]
        others = [[each for each in near if each != own][:top] for near, own in zip(found.tolist(), rows, strict=True)]
        return float(1 - np.mean([len(set(a) & set(b)) / top for a, b in zip(truth.tolist(), others, strict=True)]))

    def write(self, folder: Path) -> None:
        """Keep what was fitted."""
        for name in _FITTED:
            if getattr(self, name) is not None:
                np.save(folder / f"{name}.npy", getattr(self, name))

    def to_dict(self) -> dict[str, Any]:
        """Return what makes this way, for a record."""
        return {"kind": self.kind, "dimensions": self.dimensions, "width": self.width}

    @classmethod
    def read(cls, record: dict[str, Any], folder: Path) -> Storing:
        """Return what `to_dict` and `write` kept."""
        paths = {name: folder / f"{name}.npy" for name in _FITTED}
        fitted = {name: np.load(path) for name, path in paths.items() if path.is_file()}
        return cls(record["kind"], record["dimensions"], width=record["width"], **fitted)
