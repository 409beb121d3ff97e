"""Export an encoder: written, compared with the original, and only then kept."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError, ModelError, one_of
from mirrormask.core.overwriting import spare_inputs
from mirrormask.core.storage import atomic_folder, check_writable, recovered, write_json
from mirrormask.exporting import loaders
from mirrormask.exporting.checking import LIMITS, Check, compare, made_up
from mirrormask.exporting.export_readme import readme
from mirrormask.exporting.graph import check_exportable, need, plan_of, save_tokenizer, write_graph
from mirrormask.exporting.static import LEAST, Progress, learned_from, save_static, token_vectors
from mirrormask.models.bulk import encode_texts
from mirrormask.models.encoder import is_sentence_encoder, load, pooling_of
from mirrormask.models.exported import ExportedGraph
from mirrormask.models.model_files import FACTS, MODULES
from mirrormask.models.runtimes import STATIC, ExportPlan, encode_exported

KINDS = tuple(LIMITS)
"""What an encoder can be exported to."""


def export_model(
    model: str,
    out: Path,
    *,
    to: str,
    normalize: bool | None = None,
    corpus: Iterable[str] | None = None,
    max_loss: float | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Export an encoder to a folder that runs without torch, and return what was found when it was checked.

    Args:
        model: a sentence encoder by name or folder.
        out: a new or empty folder; it appears once the export was compared with the original.
        to: one of `KINDS`.
        normalize: scale vectors to length 1 inside the graph; by default unless the model compares by dot product.
        corpus: texts like those it will read, which `static` takes its token vectors and weights from.
        max_loss: STS points that may be lost; by default what the kind of export allows.
        progress: told of every stage.

    Raises:
        ModelError: the model cannot be exported, or the export is too far from it.
        MissingExtra: a package is not installed.
        MirrormaskError: `out` is not empty.
    """
    one_of("to", to, KINDS, of="an export")
    if to == STATIC and corpus is None:
        raise MirrormaskError(
            f"Token vectors are learned from texts. Give --corpus a file with {LEAST:,} or more like those to be read."
        )
    spare_inputs([model], replaced=[out])
    check_writable(out)
    if any(recovered(out).iterdir()):
        raise MirrormaskError(f"{out} is not empty. Give another --out, or remove it.")
    out.rmdir()  # it appears again when it is whole
    if not is_sentence_encoder(model):
        raise ModelError(
            f"{model} is a language model and no sentence encoder: nobody said how its tokens become one vector. "
            f"Train one first (mirrormask train my.txt --model {model}), and export that."
        )
    encoder = load(model, device="cpu")
    check_exportable(encoder, model)
    backend, _, precision = to.partition("-")
    plan = plan_of(encoder, backend=backend, precision=precision or "fp32", source=model)
    if backend == STATIC:
        if normalize is False:
            raise MirrormaskError("Token vectors are scaled to length 1. Leave out --no-normalize.")
        plan = replace(plan, prefix=(), suffix=(), least_width=0)
        learned, texts = learned_from(corpus or ())
    else:
        need(plan)
        texts = made_up(list(encoder.tokenizer.get_vocab()))
    with atomic_folder(out) as folder:
        save_tokenizer(encoder, folder)
        plan.write(folder)
        if backend == STATIC:
            save_static(encoder, token_vectors(encoder, learned, progress), folder)
        else:
            unit = encoder.similarity_fn_name != "dot" if normalize is None else normalize
            write_graph(encoder, plan, folder, normalize=unit)
        check = compare(
            lambda texts: _vectors(encoder, texts),
            lambda texts: encode_exported(folder, texts),
            kind=to,
            texts=texts,
            max_loss=max_loss,
        )
        _write_around(encoder, folder, plan, check)
    return {"model": model, "to": to, "folder": str(out), "bytes": _size(out), "dimension": plan.dimension} | {
        "check": check.to_dict()
    }


def _vectors(encoder: Any, texts: list[str]) -> NDArray[np.float32]:
    return encode_texts(encoder, texts, precision="fp32")


def _write_around(encoder: Any, folder: Path, plan: ExportPlan, check: Check) -> None:
    """Write what lies beside an export: how libraries open it, its loader, its README."""
    if plan.backend != STATIC:
        kind = f"{ExportedGraph.__module__}.{ExportedGraph.__name__}"
        write_json(folder / MODULES, [{"idx": 0, "name": "0", "path": "", "type": kind}])
        about = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
        write_json(
            folder / "config_sentence_transformers.json",
            {**about, "model_type": "SentenceTransformer", "similarity_fn_name": encoder.similarity_fn_name},
        )
    facts = {"pooling": pooling_of(encoder), "exported_to": plan.backend, "precision": plan.precision}
    write_json(folder / FACTS, {**facts, "base_model": plan.source, "check": check.to_dict()})
    shutil.copyfile(Path(loaders.__file__).parent / f"load_{plan.backend}.py", folder / "loader.py")
    (folder / "README.md").write_text(readme(plan, check, encoder.prompts), encoding="utf-8")


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
