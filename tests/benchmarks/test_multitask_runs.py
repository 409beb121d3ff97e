"""A run of the multitask benchmark at a small size, and its page, which says what the records say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import multitask_page
import multitask_runs
import numpy as np
import pytest


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[str], tiny_folder: Path) -> Path:
    """The three tasks with a few rows each, and the tiny model in the place of `mini`."""
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    monkeypatch.setenv("MIRRORMASK_MODELS", str(tiny_folder.parent))
    monkeypatch.setattr(multitask_runs, "ENCODERS", {str(tiny_folder): None})
    pairs = [{"sentence1": a, "sentence2": b} for a, b in zip(sentences[:60], sentences[60:120], strict=True)]
    rows: dict[str, list[dict[str, Any]]] = {
        "sst": [{"sentence": text, "sentiment": str(n % 5)} for n, text in enumerate(sentences[:60])],
        "quora": [{**pair, "is_duplicate": f"{n % 2}.0"} for n, pair in enumerate(pairs)]
        + [{**pairs[0], "is_duplicate": ""}],
        "sts": [{**pair, "similarity": str(n % 6)} for n, pair in enumerate(pairs)],
    }
    for name, each in rows.items():
        for split in ("train", "validation"):
            file = tmp_path / "cs224n" / name / f"{split}.jsonl"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("".join(json.dumps(row) + "\n" for row in each))
    return tiny_folder


def test_a_run_measures_the_three_tasks(data: Path) -> None:
    found = multitask_runs.perform(str(data), 1, steps=2, rate=1e-4, faithful=True)
    assert set(found["dev"]) == {"SST-5", "QQP", "STS"}
    assert [row["step"] for row in found["history"]] == [0, 1, 2], "an epoch is one step here"
    alone = multitask_runs.perform(str(data), 1, steps=1, rate=1e-4, faithful=False, only="STS")
    assert set(alone["dev"]) == {"STS"}


def record(encoder: str, seed: int, value: float, **more: Any) -> dict[str, Any]:
    dev = {"SST-5": value, "QQP": value + 30, "STS": value + 20 + 0.1 * seed}
    plain = {"steps": 100, "rate": 1e-4, "faithful": False, "only": "", "seconds": 9.0}
    return {"encoder": encoder, "seed": seed, "dev": dev, **plain, **more}


def test_the_page_says_what_the_records_say() -> None:
    random = np.random.default_rng(0)
    values = {"mini": 40.0, "mini + SimCSE": 40.0, "mini + Mirror-BERT": 43.0, "mini-sentence": 45.0}
    records = [record(n, s, v + 0.1 * random.normal()) for n, v in values.items() for s in range(1, 11)]
    records.append(record("mini + Mirror-BERT", 1, 30.0, faithful=True))
    text = multitask_page.page(records)
    assert "| mini-sentence | 45.0 ± " in text
    assert "Larger than what seeds explain (p below 0.05): mini + Mirror-BERT − mini on SST-5" in text
    assert "mini + SimCSE − mini on" not in text
    assert "| the report's formula (`faithful`) | 30.0 | 60.0 |" in text
