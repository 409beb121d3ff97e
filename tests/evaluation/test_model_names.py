from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mirrormask.evaluation.model_names import model_names


@pytest.mark.parametrize(
    ("models", "names"),
    [
        (["mini"], ["mini"]),
        (["/runs/a/model", "/runs/b/model"], ["a", "b"]),
        (["runs/a/model", "other/a/model", "b"], ["runs/a", "other/a", "b"]),
        (["runs/a/model", "runs/a"], ["runs/a (1)", "runs/a (2)"]),
        (["model"], [Path.cwd().name]),
        (["mini", "mini"], ["mini (1)", "mini (2)"]),
        ([Path("x/one"), "sentence-transformers/all-MiniLM-L6-v2"], ["one", "all-MiniLM-L6-v2"]),
        ([object(), SimpleNamespace(mirrormask_source="/models/mini")], ["model 1", "mini"]),
        ([SimpleNamespace(mirrormask_source="/runs/reviews/model")], ["reviews"]),
        (["."], ["."]),
    ],
)
def test_names_are_short_and_different(models: list[Any], names: list[str]) -> None:
    assert model_names(models) == names
