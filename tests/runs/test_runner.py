from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.locking import locked
from mirrormask.models.encoder import facts_of, load, pooling_of
from mirrormask.runs import runner
from mirrormask.runs.folder import RunResult, open_folder
from mirrormask.runs.recipe import build_recipe
from mirrormask.runs.runner import Reporter, run_recipe


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
    objective = record["parts"]["objective"]
    assert (objective["type"], objective["temperature"], objective["both_directions"]) == ("InfoNCE", 0.2, False)
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


def test_what_kills_left_is_gone_after_a_resume(run: Callable[..., RunResult], tmp_path: Path) -> None:
    """Of a run that was killed while it wrote its model, and of one that was killed while it tidied up."""
    out = tmp_path / "run"
    for name in (".model.1a2b3c4d.partial", ".best.1a2b3c4d.partial", ".work.old"):
        (out / name).mkdir(parents=True)
    (out / ".run.json.1a2b3c4d.partial").touch()
    run()
    assert {path.name for path in out.iterdir()} == {"model", "run.json", "metrics.jsonl"}
    for name in ("checkpoint", "best", "work", ".checkpoint.1a2b3c4d.partial"):
        (out / name).mkdir()
    assert open_folder(out, resume=True) is not None
    assert {path.name for path in out.iterdir()} == {"model", "run.json", "metrics.jsonl"}
    modes = {path.stat().st_mode & 0o444 for path in (out / "model").rglob("*")}
    assert modes == {out.stat().st_mode & 0o444}, "whoever may read the folder may read the model"


def test_a_folder_that_is_held_is_refused(run: Callable[..., RunResult], tmp_path: Path) -> None:
    from threading import Thread

    refused: list[BaseException] = []

    def second() -> None:
        try:
            run()
        except MirrormaskError as error:
            refused.append(error)

    (tmp_path / "run").mkdir()
    with locked(tmp_path / "run"):
        other = Thread(target=second)
        other.start()
        other.join()
    assert "is in use. Process" in str(refused[0])
    assert list((tmp_path / "run").iterdir()) == []
    assert run().record["result"]["steps"] == 2
