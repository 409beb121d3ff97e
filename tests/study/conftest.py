"""Run folders as `mirrormask run --seeds` leaves them, without training, and a small STS task."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from mirrormask.core.storage import write_json
from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.data.text import sources
from mirrormask.evaluation.statistics.correlation import spearman
from mirrormask.runs.recipe import build_recipe
from mirrormask.study.run_scores import PAIRS, SCHEMA, SCORES

TASKS = ("sts12", "sts13", "stsb", "stsb-dev")


def _write_run(
    folder: Path,
    name: str,
    seed: int,
    *,
    noise: float,
    pairs: int = 60,
    negatives: dict[str, Any] | None = None,
    temperature: float = 0.05,
    logged: bool = True,
    tasks: tuple[str, ...] = TASKS,
) -> Path:
    """Write a run whose cosines are the gold scores with so much noise: more is worse."""
    tables: dict[str, Any] = {
        "method": {"name": "simcse-unsup", "temperature": temperature},
        "training": {"seed": seed},
    }
    recipe = build_recipe(tables)
    chance = np.random.default_rng([seed, int(1000 * noise)])
    arrays: dict[str, Any] = {}
    scored = {}
    for place, task in enumerate(tasks):
        gold = np.random.default_rng(place).uniform(0, 5, pairs).astype(np.float32)
        cosine = (gold + noise * chance.normal(size=pairs)).astype(np.float32)
        arrays |= {f"{task}.cosine": cosine, f"{task}.gold": gold, f"{task}.pair": np.arange(pairs) + 40 * place}
        percent = 100 * spearman(cosine, gold)
        scored[task] = {"title": STS_TASKS[task].title, "pairs": pairs, "data": "x", "spearman_percent": percent}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(arrays, folder / PAIRS)
    geometry = {"on": "STS-B (test)", "alignment": 0.2 + noise / 20, "uniformity": -2.0 - chance.uniform()}
    record = {
        "schema": SCHEMA,
        "name": name,
        "seeds": dict.fromkeys(("data", "dropout", "initialization"), seed),
        "recipe": recipe.record(),
        "parts": {"negatives": negatives},
        "settings": {"batch_size": 64},
        "tasks": scored,
        "skipped": [],
        "geometry": geometry,
        "training_seconds": 1.0,
        "scoring_seconds": 1.0,
        "model": "dropped",
    }
    write_json(folder / SCORES, record)
    if logged:
        rows = [
            {
                "step": s,
                "loss": 1 / s,
                "positive_cosine": 0.9 + s / 500,
                "negative_cosine": 0.4 / s + chance.normal(0, 0.02),
            }
            for s in range(1, 40)
        ]
        lines = [json.dumps(row) for row in [{"evaluation": True, "step": 0, "score": 1.0}, *rows]]
        (folder / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def _write_row(root: Path, name: str, seeds: list[int], **options: Any) -> Path:
    """Write the runs of a row."""
    for seed in seeds:
        _write_run(root / name / f"seed-{seed}", name, seed, **options)
    return root / name


@pytest.fixture
def write_row() -> Callable[..., Path]:
    """Return a function that writes the runs of a row: ``write_row(root, "simcse", [1, 2], noise=1.0)``."""
    return _write_row


@pytest.fixture
def write_run() -> Callable[..., Path]:
    """Return a function that writes one run into any folder."""
    return _write_run


@pytest.fixture
def sts_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[str]) -> Path:
    """Put STS-B and its dev set under a local root: the score is how many words two sentences share."""
    root = tmp_path / "data"
    monkeypatch.setenv("MIRRORMASK_DATA", str(root))
    monkeypatch.setattr(sources, "_silent_until", [float("inf")])
    for place, split in enumerate(("test", "validation")):
        chosen = sentences[40 * place : 40 * place + 40]
        rows = [
            {"sentence1": a, "sentence2": b, "score": float(len(set(a.split()) & set(b.split())))}
            for a, b in itertools.pairwise(chosen)
        ]
        path = root / "mteb" / "stsbenchmark-sts" / f"{split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return root
