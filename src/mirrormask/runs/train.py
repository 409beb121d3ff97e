"""Training from Python: the command `mirrormask train` as a function."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mirrormask.models.names import DEFAULT_START
from mirrormask.runs.adapting import method_for
from mirrormask.runs.folder import RunResult, begun_with
from mirrormask.runs.given_rows import given_for
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import Reporter, run_recipe


def train(
    corpus: str | Path | Sequence[Path] | Iterable[str] | Iterable[tuple[str, ...]],
    *,
    out: str | Path,
    model: str | Path = DEFAULT_START,
    method: str = "",
    pooling: str = "",
    dev: str | Path = "",
    seed: int = 42,
    lora: int = 0,
    data: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    pairing: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    resume: bool = False,
    reporter: Reporter | None = None,
) -> RunResult:
    """Train a sentence encoder, without labels or with them, and return where it is and how it went.

    Args:
        corpus: a file or several, the name of a corpus or dataset, or texts (or tuples of texts) in Python.
        out: folder of the run; the encoder will be in `out/model`.
        model: where to start.
        method: a method by name; by default pairs, triplets and labels are learned from where the columns hold them,
            else a sentence encoder is adapted, and another model taught.
        pooling: a pooling by name; by default the model's own, or the method's.
        dev: an STS task or a file, of scored pairs or of queries with their documents, to choose what is kept by;
            without it that is chosen without labels.
        seed: same seed, same encoder.
        lora: rank of adapters to train instead of all weights.
        data: further keys of a recipe's [data] table, such as ``{"split": "en"}``.
        parameters: of the method, such as ``{"temperature": 0.1}``.
        pairing: name and parameters of another pairing, such as ``{"name": "crops"}``.
        training: settings of the loop, such as ``{"steps": 500}``.
        resume: go on from the last checkpoint in `out`.
        reporter: is told how it goes.
    """
    method = method or (begun_with(Path(out), "method") if resume else "")
    build_recipe({"training": {**(training or {}), "seed": seed}}, of="train")  # or refuse before the text is read
    paired = str((pairing or {}).get("name", ""))
    rows = given_for(corpus, tuple((data or {}).get("columns", ())), method=method, pairing=paired)
    if rows.said and reporter is not None:
        reporter.say(rows.said)
    method = method_for(str(model), method=rows.method, pairing=paired, pooling=pooling)
    tables = {
        "model": {"name": str(model), "pooling": pooling, "lora": lora},
        "data": {**(data or {}), "columns": list(rows.columns), "dev": str(dev)},
        "method": {"name": method, **(parameters or {})},
        "pairing": dict(pairing or rows.pairing),
        "training": {**(training or {}), "seed": seed},
    }
    source = str(corpus) if isinstance(corpus, Path) else corpus
    return run_recipe(build_recipe(tables, of="train"), out, source=source, resume=resume, reporter=reporter)
