"""Small encoders and data that several tests measure with; all text here is written for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.data.tasks.sts_tasks import STS_TASKS
from mirrormask.data.text import sources

WORDS = ("river", "stone", "cloud", "garden", "letter", "window", "morning", "forest", "silver", "winter")

Encoder = Callable[[Sequence[str]], NDArray[np.float32]]


@pytest.fixture
def words() -> Encoder:
    """Encode a text as the count of each word."""

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([[text.split().count(word) for word in WORDS] + [0.1] for text in texts], dtype=np.float32)

    return encode


@pytest.fixture
def noise() -> Encoder:
    """Encode a text as nothing it has to do with."""
    return lambda texts: np.random.default_rng(len(texts)).normal(size=(len(texts), 8)).astype(np.float32)


@pytest.fixture
def pairs() -> Callable[..., list[dict[str, Any]]]:
    """Make pairs whose score is how many of five words they share, a little blurred."""

    def make(count: int, seed: int, subsets: Sequence[str] = ()) -> list[dict[str, Any]]:
        random = np.random.default_rng(seed)
        rows = []
        for number in range(count):
            order = random.permutation(WORDS)
            shared = int(random.integers(0, 6))
            row = {
                "sentence1": " ".join(order[:5]),
                "sentence2": " ".join([*order[:shared], *order[5 : 10 - shared]]),
                "score": float(np.clip(shared + random.normal(0, 0.7), 0, 5)),
            }
            rows.append({**row, "subset": subsets[number % len(subsets)]} if subsets else row)
        return rows

    return make


@pytest.fixture
def sts_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, list[dict[str, Any]]], None]:
    """Return a function that puts an STS task under a local root; nothing else is found, and no hub is asked."""
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    monkeypatch.setattr(sources, "_silent_until", [float("inf")])

    def write(name: str, rows: list[dict[str, Any]]) -> None:
        path = tmp_path / STS_TASKS[name].dataset / f"{STS_TASKS[name].split}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    return write
