"""How `train` and `run` end: what was kept, what it gained, and what to type next."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.conftest import mirrormask

from mirrormask.cli.progress import measured
from mirrormask.cli.running import outcome


@pytest.fixture
def train(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> Callable[..., Any]:
    text = tmp_path / "text.txt"
    text.write_text("\n".join(sentences), encoding="utf-8")
    out = ["--out", str(tmp_path / "my run"), "--model", str(tiny_folder), "--batch-size", "16", "--seed", "5"]
    return lambda *more: mirrormask("train", str(text), *out, *more)


def test_it_ends_with_what_it_gained_and_a_command_that_works_offline(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path / "none"))
    ran = train("--steps", "60", "--learning-rate", "1e-3")
    assert ran.code == 0, ran.err
    losses = [float(found) for found in re.findall(r"held-out loss (\S+?)\.?\n", ran.out)]
    assert 0 < losses[0] < losses[1], "losses are positive, and that of the start is named after that of what was kept"
    after, before = (float(share) for share in re.findall(r"(\d+\.\d)%", ran.out))
    assert after > before
    assert "did not help" not in ran.out
    assert re.search(r"step +30 +held-out loss \d+\.\d{3} .*about \d+ seconds? left", ran.err)
    assert not re.search(r"(loss|score) +-", ran.err + ran.out)
    command = ran.out.strip().splitlines()[-1]
    again = mirrormask(*shlex.split(command)[1:])
    assert again.code == 0, again.err
    assert -1 <= float(again.out) <= 1


def test_it_says_when_training_did_not_help(train: Callable[..., Any]) -> None:
    ran = train("--steps", "6", "--learning-rate", "0.5", "--method", "simcse-unsup")
    assert ran.code == 0, ran.err
    assert ran.out.splitlines()[1] == "Training did not help: what was kept is your start."
    assert "Kept the checkpoint of step 0 of 6: held-out loss " in ran.out


def test_an_old_record_is_told_too() -> None:
    """Written before there was a check, or without an evaluation."""
    result = {"best_step": 2, "steps": 4, "history": [{"step": 2, "score": 71.2}]}
    record: dict[str, Any] = {"result": result, "selection": {"by": "spearman on stsb-dev"}}
    assert outcome(record)[0] == "Kept the checkpoint of step 2 of 4: spearman on stsb-dev 71.20."
    assert outcome({**record, "result": {**result, "history": []}}) == []


def test_scores_in_words() -> None:
    assert measured({"score": -2.31, "loss": 2.3, "accuracy": 0.411}) == "held-out loss 2.300  accuracy 41.1%"
