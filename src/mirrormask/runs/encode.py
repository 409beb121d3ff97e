"""Texts to vectors, block by block: a file of them, or a folder of shards that workers may share."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mirrormask.core.engines import Engine, PlainEngine
from mirrormask.core.errors import DataError, MirrormaskError, one_of
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.storage import check_writable
from mirrormask.runs.encode_shards import encode_shards, vectors_of
from mirrormask.runs.vector_file import FORMATS, VectorFile, begun_plan


def encode_file(
    source: str,
    out: Path,
    *,
    model: str,
    column: str | None = None,
    precision: str = "auto",
    normalize: bool = False,
    backend: str = "auto",
    resume: bool = False,
    progress: Callable[[int], None] | None = None,
    engine: Engine | None = None,
) -> dict[str, Any]:
    """Encode every row of `source` into `out`: a `.npy` of float32, a `.parquet` with texts, or a folder of shards.

    Args:
        source: a file of any supported format, or `-`; for a folder of shards also a folder of files.
        out: replaced only once it is complete.
        model: model name or folder.
        column: the column to read; where there are several, by default the one that plainly holds the text.
        precision: as for the bulk pass.
        normalize: scale every vector to length 1.
        backend: what computes: `torch`, `openvino`, `onnx`, or `auto`, the quickest that gives the same vectors.
        resume: go on with what a run that was killed left beside `out`; the result is the same to the byte.
        progress: called with the number of texts just done, or found done.
        engine: where it is done; by default in this process.
    """
    from mirrormask.data.text.compression import STDIN
    from mirrormask.data.text.origin import every_text
    from mirrormask.exporting.quickest import quickest
    from mirrormask.models.exported import backend_of
    from mirrormask.models.precision import PRECISIONS, best_precision

    engine = engine or PlainEngine()
    if engine.remote and (out.suffix in FORMATS or source == STDIN):
        raise MirrormaskError(
            f"Workers read files and write a folder of shards. Got {source} and --out {out}: give a file or folder of "
            f"texts, and a folder such as --out {out.with_suffix('')}."
        )
    if out.suffix and out.suffix not in FORMATS and not engine.remote:
        raise MirrormaskError(f"Vectors are written as .npy or .parquet, or as shards to a folder. Got --out {out}.")
    one_of("precision", precision, PRECISIONS, of="encoding")
    if resume and source == STDIN:
        raise MirrormaskError("What came from stdin cannot be read again. Give --resume a file, or leave it out.")
    check_writable(out.parent)
    spare_inputs([source, model], replaced=[out])
    if out.suffix not in FORMATS:
        if backend not in ("auto", "torch"):
            raise MirrormaskError("Shards are encoded by torch or by the export that --model is. Leave out --backend.")
        plan = {"column": column, "precision": precision, "normalize": normalize}
        return encode_shards(source, out, model, plan, engine, resume=resume, progress=progress)
    from mirrormask.core.blocks import in_blocks
    from mirrormask.models.encoder import load

    notes: list[str] = []
    texts = every_text(source, column, notes)
    first = next(texts, None)
    if first is None:
        raise DataError(f"{source} holds no text. Give a file with at least one row.")
    encoder = load(model)
    if resume and (begun := begun_plan(out)):
        backend = begun.get("backend", "torch")
    quick = quickest(encoder, [first], 1, backend=backend, precision=precision)
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
        for number, block in enumerate(in_blocks(stream)):
            if number == 0 and backend == "auto":
                quick = quickest(encoder, block, len(block), precision=precision)
            if quick.encoder is not encoder:  # who goes on with this takes the same
                file.plan["backend"] = backend_of(quick.encoder)
            file.append(block, vectors_of(quick.encoder, block, precision=precision, normalize=normalize))
            if progress is not None:
                progress(len(block))
        file.finish()
    done = {"rows": file.rows, "dimension": width, "model": model, "backend": quick.backend}
    return {**done, "file": str(out), "notes": notes}


def _fingerprint(encoder: Any) -> str:
    """Return a digest of the encoder's parts and all weights."""
    whole = hashlib.blake2b(str(encoder).encode(), digest_size=16)
    for name, weight in encoder.state_dict().items():
        whole.update(name.encode())
        whole.update(weight.detach().cpu().float().contiguous().numpy().tobytes())
    return whole.hexdigest()
