"""A file of vectors that grows in a folder beside its place, so that a killed run loses one block at most.

The folder holds the vectors so far, the texts where the file wants them too, and a record of how far both count. The
record is written after them: what a kill left behind it is cut off.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, MissingExtra
from mirrormask.core.locking import locked
from mirrormask.core.storage import atomic_file, explained, read_json, write_json

FORMATS = (".npy", ".parquet")

_RECORD, _VECTORS, _TEXTS = "progress.json", "vectors.npy", "texts.jsonl"
_HEADER = 128  # bytes of the .npy header, whatever the number of rows

Vectors = NDArray[np.float32]


class VectorFile:
    """Vectors on their way to `out`, in a `with` block.

    Args:
        out: the file, `.npy` or `.parquet`; it appears once it is whole.
        width: numbers of a vector.
        plan: what decides the vectors: another plan does not go on with these.
        resume: keep what is there.

    Raises:
        MirrormaskError: what is there was made by another plan, or another process is at it.
    """

    def __init__(self, out: Path, width: int, plan: Mapping[str, Any], *, resume: bool) -> None:
        self.out, self.width = out, width
        self.folder = unfinished(out)
        self.plan = dict(plan)
        self._texts = out.suffix == ".parquet"
        if self._texts:
            parquet()  # or say that it is missing, before the work
        self.folder.mkdir(exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            self.rows, size, self._digest = self._found() if resume else (0, 0, "")
            if not self.rows:
                (self.folder / _RECORD).unlink(missing_ok=True)
            self._streams = [stack.enter_context(self._open(_VECTORS, _HEADER + 4 * width * self.rows))]
            if self._texts:
                self._streams.append(stack.enter_context(self._open(_TEXTS, size)))
            self._held = stack.pop_all()

    def skip(self, texts: Iterator[str]) -> int:
        """Pass over the texts whose vectors are there and return their number.

        Raises:
            DataError: they are not the texts that these vectors were made of.
        """
        digest = ""
        for text in itertools.islice(texts, self.rows):
            digest = _after(digest, text)
        if digest != self._digest:
            raise DataError(f"The text has changed since {self.folder} was begun. Leave out --resume to begin anew.")
        return self.rows

    def append(self, texts: Sequence[str], vectors: Vectors) -> None:
        """Add a block of texts with their vectors; from then on it survives a kill."""
        self._streams[0].write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
        if self._texts:
            self._streams[1].writelines(json.dumps(text).encode() + b"\n" for text in texts)
        for stream in self._streams:
            stream.flush()
            os.fsync(stream.fileno())
        for text in texts:
            self._digest = _after(self._digest, text)
        self.rows += len(texts)
        size = self._streams[1].tell() if self._texts else 0
        record = {"plan": self.plan, "rows": self.rows, "digest": self._digest, "size": size}
        write_json(self.folder / _RECORD, record)

    def finish(self) -> None:
        """Put the whole file into its place."""
        if self._texts:
            self._write_parquet()
        else:
            stream = self._streams[0]
            stream.seek(0)
            stream.write(_header(self.rows, self.width))
            stream.flush()
            os.fsync(stream.fileno())
            (self.folder / _VECTORS).replace(self.out)

    def __enter__(self) -> VectorFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._held.close()
        if error is None or not self.rows:
            shutil.rmtree(self.folder, ignore_errors=True)
        if error is not None and (told := explained(error, self.out)) is not error:
            raise told from error

    def _found(self) -> tuple[int, int, str]:
        """Return how many rows are there, where their texts end, and their digest."""
        try:
            record = read_json(self.folder / _RECORD)
            rows, size, digest = int(record["rows"]), int(record["size"]), str(record["digest"])
            large = [(self.folder / _VECTORS).stat().st_size >= _HEADER + 4 * self.width * rows]
            large += [(self.folder / _TEXTS).stat().st_size >= size] if self._texts else []
        except (OSError, ValueError, KeyError, TypeError):
            return 0, 0, ""  # killed before the first block, or when all was done
        check_plan(self.folder, record["plan"], self.plan)
        return (rows, size, digest) if all(large) else (0, 0, "")

    def _open(self, name: str, size: int) -> BinaryIO:
        """Open one of the growing files at the end of what counts."""
        path = self.folder / name
        path.touch()
        stream = path.open("r+b")
        if name == _VECTORS:
            stream.write(_header(0, self.width))
        stream.truncate(size)
        stream.seek(size)
        return stream

    def _write_parquet(self) -> None:
        from mirrormask.core.blocks import in_blocks

        pa, pq = parquet()
        schema = pa.schema([("text", pa.string()), ("vector", pa.list_(pa.float32(), self.width))])
        with (
            (self.folder / _VECTORS).open("rb") as vectors,
            (self.folder / _TEXTS).open("rb") as texts,
            atomic_file(self.out, "wb") as stream,
            pq.ParquetWriter(stream, schema) as writer,
        ):
            vectors.seek(_HEADER)
            for block in in_blocks(map(json.loads, texts)):
                flat = pa.array(np.frombuffer(vectors.read(4 * self.width * len(block)), dtype="<f4"))
                arrays = [pa.array(block, pa.string()), pa.FixedSizeListArray.from_arrays(flat, self.width)]
                writer.write_table(pa.Table.from_arrays(arrays, schema=schema))


def unfinished(out: Path) -> Path:
    """Return the folder in which the vectors for `out` grow."""
    return out.with_name(f".{out.name}.unfinished")


def check_plan(folder: Path, begun: Mapping[str, Any], plan: Mapping[str, Any]) -> None:
    """Raise a MirrormaskError where vectors in a folder were begun by another plan."""
    other = [key for key, value in plan.items() if begun.get(key) != value]
    if other:
        raise MirrormaskError(
            f"{folder} was begun with another {' and '.join(other)}. Leave out --resume to begin anew."
        )


def begun_plan(out: Path) -> dict[str, Any]:
    """Return the plan by which vectors for `out` were begun; nothing where none are there that count."""
    try:
        return dict(read_json(unfinished(out) / _RECORD)["plan"])
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _after(digest: str, text: str) -> str:
    """Return the digest of a row of texts that one more follows."""
    return hashlib.blake2b(digest.encode() + text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _header(rows: int, width: int) -> bytes:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}".ljust(_HEADER - 11) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1")


def parquet() -> tuple[Any, Any]:
    """Return the packages that write Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "data", "Writing .parquet") from None
    return pyarrow, pyarrow.parquet
