"""A tiny sentence encoder on disk, made once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def without_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compare on what is here, not on data that only some machines have."""
    monkeypatch.delenv("MIRRORMASK_DATA", raising=False)


@pytest.fixture
def saved(tiny: Callable[..., Any], made_once: Callable[..., Path]) -> Callable[[str], Path]:
    """Return a function that saves the tiny encoder with a pooling, once for all tests."""
    from mirrormask.models.encoder import save_encoder

    return lambda pooling: made_once(f"tiny-{pooling}", lambda folder: save_encoder(tiny(pooling=pooling), folder))


@pytest.fixture
def texts(sentences: list[str]) -> list[str]:
    """Short, long and empty texts, and one that is cut."""
    return [*sentences[:12], "", "cat", " ".join(sentences[:30])]
