"""Arrays on disk that are read piece by piece, so that a corpus of any size costs no memory.

Everything is a plain `.npy` file. Reading goes through `os.pread` and not through a memory map, because mapped pages
count into the resident memory of the process; it keeps no position, so threads and forked processes can share a reader.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mirrormask.core.errors import DataError

Array = NDArray[Any]
_BUFFER = 1 << 20  # bytes held back before they are written


class ArrayWriter:
    """A one-dimensional `.npy` file that grows by appending; it appears under its name when finished.

    Args:
        path: the file to write.
        dtype: type of its items.
    """

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path = path
        self.dtype = np.dtype(dtype)
        self._partial = path.with_name(path.name + ".partial")
        self._file = self._partial.open("wb", buffering=_BUFFER)
        self._items = 0
        self._file.write(self._header())

    def __len__(self) -> int:
        return self._items

    def extend(self, items: Array | Sequence[int]) -> None:
        """Append many items."""
        block = np.ascontiguousarray(items, dtype=self.dtype)
        self._items += block.size
        self._file.write(block.data)

    def extend_bytes(self, data: bytes) -> None:
        """Append items given as the bytes they are stored in."""
        self._items += len(data) // self.dtype.itemsize
        self._file.write(data)

    def finish(self) -> ArrayReader:
        """Write the true length into the header, move the file to its name and return a reader of it."""
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()
        self._partial.replace(self.path)
        return ArrayReader(self.path)

    def abandon(self) -> None:
        """Close and remove what was written so far."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _header(self) -> bytes:
        # numpy leaves room in the header for the length to grow, so that it can be replaced in place.
        header = io.BytesIO()
        description = {"descr": self.dtype.str, "fortran_order": False, "shape": (self._items,)}
        np.lib.format.write_array_header_1_0(header, description)
        return header.getvalue()


class ArrayReader:
    """A one-dimensional `.npy` file, read in slices.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     writer = ArrayWriter(Path(folder) / "squares.npy", np.int64)
        ...     writer.extend([i * i for i in range(10)])
        ...     squares = writer.finish()
        ...     squares[3], squares.slice(7, 10).tolist()
        (9, [49, 64, 81])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY)
        except OSError as error:
            raise DataError(f"{path} cannot be opened: {error.strerror}. Build the corpus again.") from error
        try:
            head = io.BytesIO(os.pread(self._descriptor, 4096, 0))
            np.lib.format.read_magic(head)
            shape, _, self.dtype = np.lib.format.read_array_header_1_0(head)
            self._start = head.tell()
        except ValueError as error:
            self.close()
            raise DataError(f"{path} is not an array file: {error}. Build the corpus again.") from error
        self._items = int(shape[0])
        if os.fstat(self._descriptor).st_size != self._start + self._items * self.dtype.itemsize:
            self.close()
            raise DataError(f"{path} is half-written. Build the corpus again.")

    def __len__(self) -> int:
        return self._items

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self._items:
            raise IndexError(f"{self.path} has {self._items} items, no item {index}")
        return int(self.slice(index, index + 1)[0])

    def slice(self, start: int, stop: int) -> Array:
        """Return items `start` to `stop` as a read-only array of their own."""
        size = self.dtype.itemsize
        place, missing = self._start + start * size, (stop - start) * size
        data = os.pread(self._descriptor, missing, place)
        if len(data) < missing:  # one call returns at most 2 GB
            pieces = [data]
            while missing := missing - len(pieces[-1]):
                place += len(pieces[-1])
                pieces.append(os.pread(self._descriptor, missing, place))
                if not pieces[-1]:
                    raise DataError(f"{self.path} ends too early. Build the corpus again.")
            data = b"".join(pieces)
        return np.frombuffer(data, dtype=self.dtype)

    def joined(self, slices: Sequence[Sequence[int]]) -> bytes:
        """Return the bytes of many slices, one after another."""
        read, descriptor, begin, size = os.pread, self._descriptor, self._start, self.dtype.itemsize
        data = b"".join([read(descriptor, size * (b - a), begin + size * a) for a, b in slices])
        if len(data) != size * sum(b - a for a, b in slices):
            return b"".join([self.slice(a, b).tobytes() for a, b in slices])  # a slice beyond 2 GB, or a file cut short
        return data

    def close(self) -> None:
        """Close the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        if getattr(self, "_descriptor", -1) >= 0:
            self.close()


class RaggedWriter:
    """Rows of different lengths, appended one by one or in blocks: the items and, beside them, where each row begins.

    Args:
        path: where to write, without suffix; `.values.npy` and `.offsets.npy` are added.
        dtype: type of the items: uint8 for text, uint16 or uint32 for token ids.
    """

    def __init__(self, path: Path, dtype: DTypeLike) -> None:
        self.path = path
        self._values = ArrayWriter(_part(path, "values"), dtype)
        self._offsets = ArrayWriter(_part(path, "offsets"), np.int64)
        self._offsets.extend([0])
        self._ends: list[int] = []
        self._rows = 0

    def __len__(self) -> int:
        return self._rows

    def append(self, row: bytes) -> None:
        """Append one row, given as its bytes."""
        self._values.extend_bytes(row)
        self._ends.append(len(self._values))
        self._rows += 1
        if len(self._ends) == 8192:
            self._flush()

    def extend(self, values: Array, lengths: Array) -> None:
        """Append many rows: their items in one array and the length of each."""
        self._flush()
        self._offsets.extend(len(self._values) + np.cumsum(lengths, dtype=np.int64))
        self._values.extend(values)
        self._rows += len(lengths)

    def finish(self) -> RaggedReader:
        """Move both files to their names and return a reader of them."""
        self._flush()
        self._values.finish().close()
        self._offsets.finish().close()
        return RaggedReader(self.path)

    def abandon(self) -> None:
        """Close and remove what was written so far."""
        self._values.abandon()
        self._offsets.abandon()

    def _flush(self) -> None:
        self._offsets.extend(self._ends)
        self._ends.clear()


class RaggedReader:
    """Rows of different lengths on disk.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     writer = RaggedWriter(Path(folder) / "rows", np.uint16)
        ...     writer.extend(np.arange(5), np.array([2, 0, 3]))
        ...     rows = writer.finish()
        ...     len(rows), rows[0].tolist(), rows[2].tolist()
        (3, [0, 1], [2, 3, 4])
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.values = ArrayReader(_part(path, "values"))
        self.offsets = ArrayReader(_part(path, "offsets"))
        if len(self.offsets) < 1 or self.offsets[len(self.offsets) - 1] != len(self.values):
            raise DataError(f"{path} is half-written: its rows and its items do not fit. Build the corpus again.")

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> Array:
        if not 0 <= index < len(self):
            raise IndexError(f"{self.path} has {len(self)} rows, no row {index}")
        start, stop = self.offsets.slice(index, index + 2).tolist()
        return self.values.slice(start, stop)

    def take(self, rows: Sequence[int]) -> list[Array]:
        """Return many rows, each a read-only array."""
        if len(rows) and not 0 <= min(rows) <= max(rows) < len(self):
            raise IndexError(f"{self.path} has {len(self)} rows, not all of {min(rows)} to {max(rows)}")
        places = np.frombuffer(self.offsets.joined([(row, row + 2) for row in rows]), dtype=np.int64).reshape(-1, 2)
        values = np.frombuffer(self.values.joined(places.tolist()), dtype=self.values.dtype)
        ends = np.cumsum(places[:, 1] - places[:, 0]).tolist()
        return [values[a:b] for a, b in zip([0, *ends], ends, strict=False)]

    def block(self, start: int, stop: int) -> tuple[Array, Array]:
        """Return the items of rows `start` to `stop` in one array, and where each begins, with the end."""
        offsets = self.offsets.slice(start, stop + 1)
        return self.values.slice(int(offsets[0]), int(offsets[-1])), offsets - offsets[0]

    def close(self) -> None:
        """Close the files."""
        self.values.close()
        self.offsets.close()


def _part(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}.{name}.npy")
