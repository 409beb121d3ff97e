"""Every method and every pooling trains through a recipe and leaves a model that plain sentence-transformers opens."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file
from sentence_transformers import SentenceTransformer

import mirrormask
from mirrormask.models.encoder import load
from mirrormask.models.masked_lm import MaskedLM
from mirrormask.runs.catalogue import registries
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import RunResult, run_recipe

SOURCE = Path(mirrormask.__file__).parent
METHODS = registries()["method"].names()
POOLINGS = registries()["pooling"].names()
PAIRINGS = registries()["pairing"].names()


@pytest.fixture
def run(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> Callable[..., RunResult]:
    """Return a run of two steps: ``run(method=…, pooling=…, pairing=…)``."""

    def start(*, method: str = "simcse-unsup", pooling: str = "", pairing: str = "", out: str = "run") -> RunResult:
        name = pairing or registries()["method"].build(method).pairing[0]
        texts: list[Any] = sentences[:40]
        if name == "columns":
            texts = list(zip(sentences[:40], sentences[40:80], sentences[80:120], strict=True))
        if name == "classes":
            texts = [(text, f"class {row % 3}") for row, text in enumerate(texts)]
        if name in ("labelled-pairs", "scored-pairs"):
            texts = [(sentences[row], sentences[40 + row], str(row % 3)) for row in range(40)]
        if name == "inference":
            labels = ("entailment", "contradiction")
            texts = [(sentences[row // 2], sentences[40 + row], labels[row % 2]) for row in range(80)]
        recipe = build_recipe(
            {
                "model": {"name": str(tiny_folder), "pooling": pooling},
                "method": {"name": method},
                "pairing": {"name": pairing} if pairing else {},
                "training": {"steps": 2, "batch_size": 8, "learning_rate": 0.01, "precision": "fp32"},
            }
        )
        return run_recipe(recipe, tmp_path / out, source=texts)

    return start


def test_counts() -> None:
    """As many as a plain search finds in the files of their folders."""
    for names, place, registry in ((METHODS, "methods", "methods"), (PAIRINGS, "data/pairs", "pairings")):
        text = "".join(file.read_text(encoding="utf-8") for file in sorted((SOURCE / place).glob("*.py")))
        assert len(names) == text.count(f"\n@{registry}.register(") > 9
    assert len(POOLINGS) == (SOURCE / "models" / "pooling.py").read_text(encoding="utf-8").count("\n@poolings.reg") > 9


def assert_usable(done: RunResult, sentences: list[str], tiny_folder: Path) -> None:
    """The weights moved, the LM head is kept, and every way to open the model gives the same vectors."""
    trained, before = load_file(done.model / "model.safetensors"), load_file(tiny_folder / "model.safetensors")
    shared = [name for name in trained if f"bert.{name}" in before]
    assert len(shared) > 20
    moved = [
        name for name in shared if not np.array_equal(trained[name].numpy(), before[f"bert.{name}"].float().numpy())
    ]
    frozen = done.record["parts"].get("frozen", False)
    same = frozen or done.record["result"]["kept_start"]
    assert (len(moved) > 20) is not same, "training changed the encoder, or was no gain, or was that of a flow on it"
    ours = load(done.model, device="cpu").encode(sentences[:5])
    assert np.isfinite(ours).all()
    parts = done.record["parts"]
    ours_alone = parts["pooling"] in ("mask-prompt", "soft-prompt", "mean-padded")
    if ours_alone or "flow" in parts:  # our own: it asks for leave to run them
        with pytest.raises(ValueError, match="trust_remote_code"):
            SentenceTransformer(str(done.model), device="cpu")
    else:
        theirs = SentenceTransformer(str(done.model), device="cpu").encode(sentences[:5])
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    MaskedLM.load(done.model, device="cpu")


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains(
    run: Callable[..., RunResult], sentences: list[str], tiny_folder: Path, method: str
) -> None:
    done = run(method=method)
    assert done.record["result"]["steps"] == 2
    assert done.record["recipe"]["method"]["name"] == method
    assert_usable(done, sentences, tiny_folder)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_every_pooling_trains(
    run: Callable[..., RunResult], sentences: list[str], tiny_folder: Path, pooling: str
) -> None:
    done = run(pooling=pooling)
    assert done.record["parts"]["pooling"] == pooling
    assert_usable(done, sentences, tiny_folder)


@pytest.mark.parametrize("pairing", PAIRINGS)
def test_every_pairing_trains(
    run: Callable[..., RunResult], sentences: list[str], tiny_folder: Path, pairing: str
) -> None:
    done = run(pairing=pairing)
    assert done.record["parts"]["pairing"]["type"]
    assert_usable(done, sentences, tiny_folder)


def test_a_trained_encoder_is_a_start_again_and_keeps_its_pooling(
    run: Callable[..., RunResult], tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    first = run(pooling="last-2")
    tables = {"model": {"name": str(first.model)}, "training": {"steps": 2, "batch_size": 8}}
    second = run_recipe(build_recipe(tables), tmp_path / "second", source=sentences[:40])
    assert second.record["parts"]["pooling"] == "last-2"
    assert_usable(second, sentences, tiny_folder)


def test_the_same_run_twice_is_the_same_model(run: Callable[..., RunResult]) -> None:
    one, two = (run(out=name) for name in ("one", "two"))
    assert one.record["result"]["best_step"] == 2, "not the weights before training"
    assert (one.model / "model.safetensors").read_bytes() == (two.model / "model.safetensors").read_bytes()
