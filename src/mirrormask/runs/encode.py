"""A file of texts to a file of vectors, block by block."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.core.errors import DataError, MirrormaskError, one_of
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.similarity import unit_rows
from mirrormask.core.storage import check_writable
from mirrormask.runs.vector_file import FORMATS, VectorFile


def encode_file(
    source: str,
    out: Path,
    *,
    model: str,
    column: str | None = None,
    precision: str = "auto",
    normalize: bool = False,
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Encode every row of `source` into `out`, a `.npy` of float32 or a `.parquet` with texts and vectors.

    Args:
        source: a file of any supported format, or `-`.
        out: replaced only once it is complete.
        model: model name or folder.
        column: the column to read; where there are several, by default the one that plainly holds the text.
        precision: as for the bulk pass.
        normalize: scale every vector to length 1.
        resume: go on with what a run that was killed left beside `out`; the result is the same to the byte.
        progress: called with the number of texts just done, or found done.
    """
    from mirrormask.data.text.compression import STDIN
    from mirrormask.data.text.origin import every_text
    from mirrormask.models.bulk import encode_texts, in_blocks
    from mirrormask.models.encoder import load
    from mirrormask.models.precision import PRECISIONS, best_precision

    if out.suffix not in FORMATS:
        raise MirrormaskError(f"Vectors are written as .npy or .parquet. Got --out {out}.")
    one_of("precision", precision, PRECISIONS, of="encoding")
    if resume and source == STDIN:
        raise MirrormaskError("What came from stdin cannot be read again. Give --resume a file, or leave it out.")
    check_writable(out.parent)
    spare_inputs([source, model], replaced=[out])
    notes: list[str] = []
    texts = every_text(source, column, notes)
    first = next(texts, None)
    if first is None:
        raise DataError(f"{source} holds no text. Give a file with at least one row.")
    encoder = load(model)
    plan = {
        "model": _fingerprint(encoder),
        "column": column,
        "precision": best_precision(encoder.device, precision).name,
        "normalize": normalize,
    }
    width = int(encoder.get_embedding_dimension())
    with VectorFile(out, width, plan, resume=resume) as file:
        stream = itertools.chain([first], texts)
        found = file.skip(stream)
        if progress is not None and found:
            progress(found)
        for block in in_blocks(stream):
            vectors = encode_texts(encoder, block, precision=precision)
            file.append(block, unit_rows(vectors).astype(np.float32) if normalize else vectors)
            if progress is not None:
                progress(len(block))
        file.finish()
    return {"rows": file.rows, "dimension": width, "model": model, "file": str(out), "notes": notes}


def _fingerprint(encoder: Any) -> str:
    """Return a digest of the encoder's parts and all weights."""
    whole = hashlib.blake2b(str(encoder).encode(), digest_size=16)
    for name, weight in encoder.state_dict().items():
        whole.update(name.encode())
        whole.update(weight.detach().cpu().float().contiguous().numpy().tobytes())
    return whole.hexdigest()
