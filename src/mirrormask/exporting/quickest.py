"""The quickest of what is installed that says the same: torch, OpenVINO or onnxruntime, tried on the texts themselves.

Who has many texts to encode on a CPU asks once. The encoder is written as a graph into a temporary folder, both run a
sample of the texts, and the other backend is taken where its vectors are the same and it is clearly faster.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, ModelError, one_of
from mirrormask.core.similarity import paired_cosine
from mirrormask.models.bulk import encode_texts
from mirrormask.models.exported import ExportedGraph, backend_of, is_exported
from mirrormask.models.precision import best_precision

BACKENDS = ("auto", "torch", "openvino", "onnx")
"""What may be asked for; of those that run graphs the first that is installed is tried."""

ENOUGH = 2_000
"""Texts from which the trial, some seconds, pays."""

SAME, FASTER = 0.9995, 1.2
"""The lowest cosine of a text's two vectors, and how many times as fast as torch, that let another backend be taken."""

TRIED = 64
"""Texts of the trial."""


class Quick(NamedTuple):
    """An encoder and what computes its vectors.

    Args:
        encoder: a SentenceTransformer.
        backend: what computes, in words for the user.
    """

    encoder: Any
    backend: str


def quickest(
    encoder: Any, texts: Sequence[str], count: int, *, backend: str = "auto", precision: str = "auto"
) -> Quick:
    """Return an encoder that gives the same vectors by the quickest backend that is installed.

    Args:
        encoder: a SentenceTransformer; one that was exported stays as it is.
        texts: some of those that will be encoded, to try it on.
        count: of all that will be encoded, as far as is known; fewer than `ENOUGH` are not worth a trial.
        backend: one of `BACKENDS`; `torch` leaves the encoder as it is, the names of others skip the trial of speed.
        precision: that was asked for; another backend than torch is free in it only where that is `auto`.

    Raises:
        MirrormaskError: a backend was asked for by name and cannot be had.
    """
    one_of("backend", backend, BACKENDS, of="encoding")
    own = Quick(encoder, _torch(encoder, precision))
    asked = backend not in ("auto", "torch")
    if is_exported(encoder) or backend == "torch":
        return own
    ready = [name for name in BACKENDS[2:] if importlib.util.find_spec(name) and importlib.util.find_spec("onnx")]
    names = [backend] if asked else ready[:1]
    if not asked and (encoder.device.type != "cpu" or count < ENOUGH or precision != "auto" or not names):
        return own
    try:
        other = _as_graph(encoder, names[0])
        sample = list(texts[:: max(1, len(texts) // TRIED)][:TRIED])
        mine, slow = _timed(encoder, sample, precision)
        theirs, fast = _timed(other, sample, precision)
    except Exception as error:  # what a backend cannot do on this machine, torch can
        if not asked:
            return own
        if isinstance(error, MirrormaskError):
            raise
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ModelError(f"{backend} cannot run this encoder ({reason}). Leave out --backend.") from error
    lowest = float(paired_cosine(mine, theirs).min())
    if lowest < SAME or not np.allclose(np.linalg.norm(mine, axis=1), np.linalg.norm(theirs, axis=1), rtol=1e-2):
        if asked:
            raise MirrormaskError(
                f"By {backend} a text's vector has cosine {lowest:.4f} with torch's, and {SAME} is the least allowed. "
                "Leave out --backend."
            )
        return own
    if slow < FASTER * fast and not asked:
        return own
    return Quick(other, f"{names[0]}, {slow / fast:.1f} times as fast as torch here, cosines from {lowest:.5f}")


def _torch(encoder: Any, precision: str) -> str:
    name = backend_of(encoder)
    return f"torch, {best_precision(encoder.device, precision).name}" if name == "torch" else name


def _as_graph(encoder: Any, backend: str) -> Any:
    """Return an encoder as a graph that another backend runs; its files are gone once it is loaded."""
    from sentence_transformers import SentenceTransformer

    from mirrormask.exporting.graph import check_exportable, plan_of, save_tokenizer, write_graph

    name = str(getattr(encoder, "mirrormask_source", "The encoder"))
    check_exportable(encoder, name)
    plan = plan_of(encoder, backend=backend, precision="fp32", source=name)
    with TemporaryDirectory() as place:
        folder = Path(place)
        save_tokenizer(encoder, folder)
        plan.write(folder)
        write_graph(encoder, plan, folder, normalize=False)
        graph = ExportedGraph(folder)
    return SentenceTransformer(modules=[graph], device="cpu", prompts=encoder.prompts)


def _timed(encoder: Any, sample: list[str], precision: str) -> tuple[NDArray[np.float32], float]:
    encode_texts(encoder, sample[:4], precision=precision)  # what is made ready by the first run is not counted
    start = time.process_time()  # of this process alone: what else runs on the machine decides nothing
    found = encode_texts(encoder, sample, precision=precision)
    return found, time.process_time() - start
