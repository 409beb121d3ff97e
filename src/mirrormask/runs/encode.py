"""A file of texts to a file of vectors, block by block."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import DataError, MirrormaskError, MissingExtra, one_of
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.similarity import unit_rows
from mirrormask.core.storage import atomic_file, check_writable

Vectors = NDArray[np.float32]


def encode_file(
    source: str,
    out: Path,
    *,
    model: str,
    column: str | None = None,
    precision: str = "auto",
    normalize: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Encode every row of `source` into `out`, a `.npy` of float32 or a `.parquet` with texts and vectors.

    Args:
        source: a file of any supported format, or `-`.
        out: replaced only once it is complete.
        model: model name or folder.
        column: the column to read; a file with one column needs none.
        precision: as for the bulk pass.
        normalize: scale every vector to length 1.
        progress: called with the number of texts just done.
    """
    from mirrormask.models.bulk import BLOCK, encode_texts
    from mirrormask.models.encoder import load
    from mirrormask.models.precision import PRECISIONS

    if out.suffix not in {".npy", ".parquet"}:
        raise MirrormaskError(f"Vectors are written as .npy or .parquet. Got --out {out}.")
    one_of("precision", precision, PRECISIONS, of="encoding")
    check_writable(out.parent)
    spare_inputs([source, model], replaced=[out])
    texts = _texts(source, column)
    first = next(texts, None)
    if first is None:
        raise DataError(f"{source} holds no text. Give a file with at least one row.")
    encoder = load(model)

    def blocks() -> Iterator[tuple[list[str], Vectors]]:
        stream = itertools.chain([first], texts)
        while block := list(itertools.islice(stream, BLOCK)):
            vectors = encode_texts(encoder, block, precision=precision)
            if progress is not None:
                progress(len(block))
            yield block, unit_rows(vectors).astype(np.float32) if normalize else vectors

    width = int(encoder.get_embedding_dimension())
    rows = _write_npy(out, blocks(), width) if out.suffix == ".npy" else _write_parquet(out, blocks(), width)
    return {"rows": rows, "dimension": width, "model": model, "file": str(out)}


def _texts(source: str, column: str | None) -> Iterator[str]:
    from mirrormask.data.text.files import records

    for row in records(source, [column] if column else None):
        if column is None and len(row) > 1:
            raise DataError(f"{source} has several columns ({', '.join(row)}). Name one with --column.")
        yield str(row[column] if column else next(iter(row.values())))


def _write_npy(out: Path, blocks: Iterator[tuple[list[str], Vectors]], width: int) -> int:
    """Write vectors behind a header of fixed size whose row count is filled in at the end."""
    rows = 0
    with atomic_file(out, "wb") as stream:
        _header(stream, 0, width)
        for _, vectors in blocks:
            stream.write(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
            rows += len(vectors)
        stream.seek(0)
        _header(stream, rows, width)
    return rows


def _header(stream: BinaryIO, rows: int, width: int) -> None:
    text = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {width}), }}".ljust(117) + "\n"
    stream.write(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("latin1"))


def _write_parquet(out: Path, blocks: Iterator[tuple[list[str], Vectors]], width: int) -> int:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtra("pyarrow", "data", "Writing .parquet") from None
    rows = 0
    schema = pa.schema([("text", pa.string()), ("vector", pa.list_(pa.float32(), width))])
    with atomic_file(out, "wb") as stream, pq.ParquetWriter(stream, schema) as writer:
        for texts, vectors in blocks:
            flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
            arrays = [pa.array(texts, pa.string()), pa.FixedSizeListArray.from_arrays(flat, width)]
            writer.write_table(pa.Table.from_arrays(arrays, schema=schema))
            rows += len(texts)
    return rows
