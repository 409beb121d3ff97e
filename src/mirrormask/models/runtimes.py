"""What runs an exported encoder: onnxruntime or OpenVINO on a graph, numpy on a table of token vectors; never torch.

A folder that `mirrormask export` wrote says in `export.json` how its texts become rows of tokens and what runs them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MissingExtra
from mirrormask.core.storage import read_json, write_json
from mirrormask.core.unknown import BareTokenizer, UnknownCount
from mirrormask.models.model_files import EXPORT, WHOLE

Floats = NDArray[np.float32]
Runtime = Callable[[NDArray[np.int64], NDArray[np.int64]], Floats]
"""Called with token ids (n, length) and their mask; returns vectors (n, d)."""

GRAPHS = {"onnx": "model.onnx", "openvino": "openvino_model.xml"}
"""The backends that run a graph, and the file that holds it."""

STATIC = "static"
"""The backend that averages one vector per token."""

_ROWS = 32  # texts run at once


@dataclass(frozen=True)
class ExportPlan:
    """How an exported encoder is run: what `export.json` holds, and everything that decides its vectors but files.

    Args:
        backend: one of `GRAPHS`, or `static`.
        precision: of its weights: `fp32` or `int8`.
        source: the model that it was made of.
        dimension: numbers of a vector.
        max_length: tokens that it reads of a text, those around it included.
        prefix, suffix: ids before and after every text.
        pad_id: what shorter rows are filled with.
        least_width: tokens to which every row is filled at least.
    """

    backend: str
    precision: str
    source: str
    dimension: int
    max_length: int
    prefix: tuple[int, ...] = ()
    suffix: tuple[int, ...] = ()
    pad_id: int = 0
    least_width: int = 0

    @classmethod
    def read(cls, folder: Path | str) -> ExportPlan:
        """Return the plan of an exported encoder."""
        found = read_json(Path(folder) / EXPORT)
        return cls(**{**found, "prefix": tuple(found["prefix"]), "suffix": tuple(found["suffix"])})

    def write(self, folder: Path) -> None:
        """Write the plan into a folder."""
        write_json(folder / EXPORT, asdict(self))

    def rows(self, bare: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return ids and mask (n, width) of texts given as ids without what stands around them."""
        room = self.max_length - len(self.prefix) - len(self.suffix)
        framed = [(*self.prefix, *ids[:room], *self.suffix) for ids in bare]
        width = max(self.least_width, 1, *map(len, framed))
        ids = np.full((len(framed), width), self.pad_id, dtype=np.int64)
        mask = np.zeros_like(ids)
        for place, row in enumerate(framed):
            ids[place, : len(row)] = row
            mask[place, : len(row)] = 1
        return ids, mask


def open_runtime(folder: Path | str, plan: ExportPlan, *, threads: int = 0) -> Runtime:
    """Return what runs an exported encoder.

    Args:
        folder: where it is.
        plan: what its `export.json` says.
        threads: to compute with; 0 is as many as there are cores.

    Raises:
        MissingExtra: the package that runs it is not installed.
    """
    folder = Path(folder)
    if plan.backend == "onnx":
        return _onnx(folder, threads)
    return _openvino(folder, threads) if plan.backend == "openvino" else _table(folder)


def encode_exported(folder: Path | str, texts: Sequence[str]) -> Floats:
    """Return the vectors (n, d) of texts by an exported encoder, without torch and what is built on it."""
    from tokenizers import Tokenizer

    plan = ExportPlan.read(folder)
    run = open_runtime(folder, plan)
    tokenizer = Tokenizer.from_file(str(Path(folder) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    bare = [each.ids for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)]
    unknown = tokenizer.token_to_id(getattr(tokenizer.model, "unk_token", None) or "")
    UnknownCount(BareTokenizer(unknown, str(folder))).add(np.array([i for ids in bare for i in ids]), texts)
    found = [run(*plan.rows(bare[start : start + _ROWS])) for start in range(0, len(bare), _ROWS)]
    return np.concatenate(found) if found else np.empty((0, plan.dimension), dtype=np.float32)


def _onnx(folder: Path, threads: int) -> Runtime:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", "onnx", f"{folder} was exported to ONNX: running it") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3  # errors alone
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # no thread waits busily
    session = onnxruntime.InferenceSession(
        str(folder / GRAPHS["onnx"]), sess_options=options, providers=["CPUExecutionProvider"]
    )

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        found: Floats = session.run(None, {"input_ids": ids, "attention_mask": mask})[0]
        return found

    return run


def _openvino(folder: Path, threads: int) -> Runtime:
    try:
        import openvino
    except ImportError:
        raise MissingExtra("openvino", "openvino", f"{folder} was exported to OpenVINO: running it") from None
    options: dict[str, Any] = {"INFERENCE_NUM_THREADS": threads} if threads else {}
    request = openvino.Core().compile_model(str(folder / GRAPHS["openvino"]), "CPU", options).create_infer_request()
    alone = threading.Lock()  # a request holds the arrays of one call

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        with alone:
            return np.array(request.infer({"input_ids": ids, "attention_mask": mask})[0], dtype=np.float32)

    return run


def _table(folder: Path) -> Runtime:
    from safetensors.numpy import load_file

    table = load_file(folder / WHOLE)["embedding.weight"].astype(np.float32)

    def run(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> Floats:
        summed = np.einsum("nld,nl->nd", table[ids], mask.astype(np.float32))
        norms = np.linalg.norm(summed, axis=1, keepdims=True)
        found: Floats = summed / np.where(norms > 0, norms, 1)
        return found

    return run
