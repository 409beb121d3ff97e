from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.encoder import facts_of, load, pooling_of
from mirrormask.runs import runner
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import Reporter, RunResult, open_folder, run_recipe


class Listening(Reporter):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture
def run(tiny_folder: Path, sentences: list[str], tmp_path: Path) -> Callable[..., RunResult]:
    def start(out: str = "run", *, reporter: Reporter | None = None, rows: int = 400, **tables: Any) -> RunResult:
        training = {"steps": 2, "batch_size": 8, "precision": "fp32", **tables.pop("training", {})}
        recipe = build_recipe({"model": {"name": str(tiny_folder)}, **tables, "training": training})
        return run_recipe(recipe, tmp_path / out, source=sentences[:rows], reporter=reporter)

    return start


def test_the_record_says_how_to_do_it_again(run: Callable[..., RunResult], tiny_folder: Path, tmp_path: Path) -> None:
    done = run(method={"name": "simcse-unsup", "temperature": 0.2})
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record == json.loads(json.dumps(done.record, default=str))
    assert record["parts"]["objective"] == {
        "type": "InfoNCE",
        "temperature": 0.2,
        "both_directions": False,
        "label_smoothing": 0.0,
        "hard_weight": 0.0,
    }
    assert record["parts"]["pooling"] == "cls-mlp"
    assert record["settings"]["learning_rate"] == 3e-5, "the paper's own, unless told otherwise"
    assert record["data"]["kept"] == 400
    assert record["data"]["pairs"] < 400, "some text is set aside to choose by"
    assert {"python", "mirrormask", "torch", "transformers"} <= record["versions"].keys()
    again = build_recipe(
        {
            "model": record["recipe"]["model"],
            "data": record["recipe"]["data"],
            "method": {"name": record["recipe"]["method"]["name"], **record["recipe"]["method"]["parameters"]},
            "training": record["recipe"]["training"],
            "seeds": record["recipe"]["seeds"],
        }
    )
    assert json.loads(json.dumps(again.record())) == record["recipe"]


def test_the_train_only_head_is_not_saved(run: Callable[..., RunResult]) -> None:
    done = run(method={"name": "simcse-unsup"})
    assert done.record["parts"]["pooling"] == "cls-mlp"
    assert pooling_of(load(done.model, device="cpu")) == "cls"
    assert facts_of(done.model)["method"] == "simcse-unsup"


def test_it_says_what_it_does(run: Callable[..., RunResult]) -> None:
    heard = Listening()
    run(reporter=heard)
    text = "\n".join(heard.said)
    for said in ("400 texts kept of 400", "without labels", "2 steps of 8", "This will take about"):
        assert said in text


def test_seeds_decide(run: Callable[..., RunResult]) -> None:
    """With so little text that nothing is set aside and the last weights are kept, not the first."""
    found = [run(name, rows=100, training={"seed": seed}) for name, seed in (("a", 1), ("b", 1), ("c", 2))]
    assert {each.record["result"]["best_step"] for each in found} == {2}
    weights = [(each.model / "model.safetensors").read_bytes() for each in found]
    assert weights[0] == weights[1]
    assert weights[0] != weights[2]


def test_no_text_is_refused(tiny_folder: Path, tmp_path: Path) -> None:
    recipe = build_recipe({"model": {"name": str(tiny_folder)}})
    with pytest.raises(MirrormaskError, match="A run needs text"):
        run_recipe(recipe, tmp_path / "run")


def test_a_full_disk_at_the_very_end_keeps_the_checkpoint(
    run: Callable[..., RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(runner, "save_encoder", full)
    with pytest.raises(OSError, match="No space"):
        run(training={"steps": 3, "checkpoint_every": 2})
    assert (tmp_path / "run" / "checkpoint" / "state.json").is_file()
    monkeypatch.undo()
    with pytest.raises(MirrormaskError, match="unfinished run. Go on with --resume"):
        run(training={"steps": 3, "checkpoint_every": 2})


def test_folders(tmp_path: Path) -> None:
    assert open_folder(tmp_path / "new", resume=False) is None
    assert (tmp_path / "new").is_dir()
    (tmp_path / "done" / "model").mkdir(parents=True)
    (tmp_path / "done" / "run.json").write_text('{"a": 1}')
    with pytest.raises(MirrormaskError, match="holds a finished run"):
        open_folder(tmp_path / "done", resume=False)
    found = open_folder(tmp_path / "done", resume=True)
    assert found is not None
    assert (found.model, found.record) == (tmp_path / "done" / "model", {"a": 1})
    (tmp_path / "torn" / ".checkpoint.old").mkdir(parents=True)
    with pytest.raises(MirrormaskError, match="holds an unfinished run"):
        open_folder(tmp_path / "torn", resume=False)
