from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.evaluation.sts import sts_spearman
from mirrormask.runs.recipe import build_recipe
from mirrormask.study.run_scores import read_pairs, read_scores, same_run, score_encoder


def test_scores_and_pairs_of_an_encoder(tiny: Callable[..., Any], sts_data: Path, tmp_path: Path) -> None:
    encoder = tiny(pooling="mean")
    out = tmp_path / "run"
    out.mkdir()
    record = score_encoder(encoder, ["stsb", "stsb-dev", "sts12"], out, {"name": "row"})
    assert record == read_scores(out)
    assert record["skipped"] == ["sts12"], "its data is not there"
    assert record["tasks"]["stsb"]["spearman_percent"] == pytest.approx(sts_spearman(encoder, "stsb"), abs=1e-3)
    assert record["tasks"]["stsb"]["data"] != record["tasks"]["stsb-dev"]["data"]
    assert {"alignment", "uniformity", "on"} <= record["geometry"].keys()
    assert "torch" in record["versions"]
    pairs = read_pairs(out)
    assert pairs["stsb.cosine"].dtype == np.float32
    assert pairs["stsb.gold"].tolist() == load_sts("stsb").scores.tolist()
    assert len(set(pairs["stsb.pair"].tolist())) == record["tasks"]["stsb"]["pairs"] == 39
    text = (out / "scores.json").read_text() + (out / "pairs.safetensors").read_bytes().decode("latin-1")
    assert load_sts("stsb").sentence1[0] not in text, "no text is kept"


def test_what_is_measured_does_not_make_another_run() -> None:
    tables: dict[str, Any] = {"method": {"name": "simcse-unsup"}, "training": {"seed": 1}}
    recipe = build_recipe(tables)
    other = build_recipe({**tables, "evaluation": {"tasks": ["stsb"]}, "expect": {"stsb": 1.0}})
    assert same_run(recipe, json.loads(json.dumps(other.record())))
    assert not same_run(recipe, build_recipe({**tables, "training": {"seed": 2}}).record())


def test_damage_is_said(tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match=r"holds no scores.json. Runs that are to be compared come from"):
        read_scores(tmp_path)
    (tmp_path / "scores.json").write_text("{")
    with pytest.raises(MirrormaskError, match="is damaged"):
        read_scores(tmp_path)
    (tmp_path / "scores.json").write_text('{"schema": "other"}')
    with pytest.raises(MirrormaskError, match="is not of the kind"):
        read_scores(tmp_path)
    with pytest.raises(MirrormaskError, match="cannot be read"):
        read_pairs(tmp_path)
    (tmp_path / "pairs.safetensors").write_bytes(b"12345678901234567890")
    with pytest.raises(MirrormaskError, match="cannot be read"):
        read_pairs(tmp_path)
