from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.locking import locked
from mirrormask.core.seeding import Seeds
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.runs.recipe import Recipe, build_recipe
from mirrormask.study.grid import own_seed, plan_runs, run_grid


@pytest.fixture
def recipe(tiny_folder: Path, sentences: list[str], tmp_path: Path, sts_data: Path) -> Callable[..., Recipe]:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(sentences))

    def build(**tables: Any) -> Recipe:
        training = {"steps": 2, "batch_size": 8, "precision": "fp32", "max_length": 16, **tables.pop("training", {})}
        return build_recipe(
            {
                "model": {"name": str(tiny_folder), "pooling": "mean"},
                "data": {"corpus": str(corpus), "dev": "stsb-dev"},
                "method": {"name": "composition", **tables.pop("method", {})},
                "training": training,
                "evaluation": {"tasks": ["stsb", "stsb-dev"], **tables.pop("evaluation", {})},
            }
        )

    return build


def test_the_plan_goes_seed_by_seed(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    planned = plan_runs({"a": recipe(), "b": recipe()}, [3, 1], tmp_path)
    assert [(each.name, each.seed) for each in planned] == [("a", 3), ("b", 3), ("a", 1), ("b", 1)]
    assert planned[0].recipe.seeds == Seeds.all(3)
    assert planned[1].folder == tmp_path / "b" / "seed-3"
    assert len({each.work for each in planned}) == 1, "the same text is prepared once"
    longer = plan_runs({"c": recipe(training={"max_length": 20})}, [3], tmp_path)
    assert longer[0].work != planned[0].work


def test_each_source_of_chance_can_be_held_fixed(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    order = plan_runs({"a": recipe()}, [3], tmp_path, vary=["order"])[0]
    assert (order.name, order.recipe.seeds) == ("a-order", Seeds(data=3, dropout=42, initialization=42))
    both = plan_runs({"a": recipe()}, [3], tmp_path, vary=["initialization", "dropout"])[0]
    assert (both.name, both.recipe.seeds) == ("a-dropout-initialization", Seeds(42, 3, 3))


def test_bad_plans(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    with pytest.raises(MirrormaskError, match=r"must be one of order, dropout, initialization. Got 'odrer'. Did you"):
        plan_runs({"a": recipe()}, [1], tmp_path, vary=["odrer"])
    with pytest.raises(MirrormaskError, match="Something must differ between seeds"):
        plan_runs({"a": recipe()}, [1], tmp_path, vary=[])
    with pytest.raises(MirrormaskError, match=r"Seeds must be different whole numbers, at least one. Got \[1, 1\]"):
        plan_runs({"a": recipe()}, [1, 1], tmp_path)
    with pytest.raises(MirrormaskError, match="Several runs cannot share stdin"):
        plan_runs({"a": build_recipe({"data": {"corpus": "-"}})}, [1], tmp_path)
    with pytest.raises(MirrormaskError, match="different seeds for data, dropout and initialization"):
        own_seed(build_recipe({"seeds": {"data": 1}}))
    with pytest.raises(MirrormaskError, match=r"The 'jobs' of a run over seeds must be at least 1. Got 0"):
        list(run_grid([], jobs=0))


def test_runs_are_made_once_and_scored(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    out = tmp_path / "runs"
    rows = {"plain": recipe(), "bank": recipe(method={"negatives": "memory-bank"})}
    made = list(run_grid(plan_runs(rows, [1, 2], out)))
    assert [each.status for each in made] == ["done"] * 4
    for each in made:
        record = json.loads((each.folder / "scores.json").read_text())
        assert record["name"] == each.name
        assert record["seeds"] == dict.fromkeys(("data", "dropout", "initialization"), each.seed)
        assert record["tasks"].keys() == {"stsb", "stsb-dev"}
        assert record["settings"]["batch_size"] == 8
        assert {"model", "run.json", "metrics.jsonl", "pairs.safetensors"} <= {p.name for p in each.folder.iterdir()}
        logged = [json.loads(line) for line in (each.folder / "metrics.jsonl").read_text().splitlines()]
        assert all("positive_cosine" in row for row in logged if not row.get("evaluation"))
    bank = {"type": "MemoryBank", "size": 0, "momentum": 0.0, "slow_head": True}
    assert made[1].scores["parts"]["negatives"] == bank
    before = (made[0].folder / "scores.json").stat().st_mtime_ns
    again = list(run_grid(plan_runs(rows, [1, 2, 3], out)))
    assert [each.status for each in again] == ["found"] * 4 + ["done"] * 2
    assert (made[0].folder / "scores.json").stat().st_mtime_ns == before
    (made[0].folder / "scores.json").unlink()  # killed between training and scoring
    trained = (made[0].folder / "run.json").stat().st_mtime_ns
    assert [each.status for each in run_grid(plan_runs(rows, [1], out))] == ["done", "found"]
    assert (made[0].folder / "run.json").stat().st_mtime_ns == trained, "it was not trained again"


def test_another_recipe_in_the_same_place_is_refused(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    out = tmp_path / "runs"
    (made,) = run_grid(plan_runs({"a": recipe()}, [1], out, keep_models=False))
    assert made.status == "done"
    assert not (made.folder / "model").exists()
    assert made.scores["model"] == "dropped"
    (other,) = run_grid(plan_runs({"a": recipe(training={"learning_rate": 1e-3})}, [1], out))
    assert (other.status, other.exit_code) == ("failed", 2)
    assert "another recipe or other settings" in other.error
    (more,) = run_grid(plan_runs({"a": recipe(evaluation={"tasks": ["stsb", "stsb-dev", "sts12"]})}, [1], out))
    assert "measured on other tasks and its encoder was not kept" in more.error
    (fewer,) = run_grid(plan_runs({"a": recipe(evaluation={"tasks": ["stsb"]})}, [1], out))
    assert fewer.status == "found"


def test_a_killed_run_goes_on(recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every source of negatives ends in the same scores, whether it was interrupted or not."""
    from mirrormask.training import loop

    options = {"steps": 4, "checkpoint_every": 2, "evaluate_every": 4}
    rows = {
        name: recipe(method={"negatives": name}, training=options) for name in ("memory-bank", "mixture", "variational")
    }
    whole = {each.name: each for each in run_grid(plan_runs(rows, [1], tmp_path / "whole"))}
    real = loop._closure

    def killing(*arguments: Any) -> Any:
        if arguments[-1] == 3:
            raise RuntimeError("killed")
        return real(*arguments)

    for planned in plan_runs(rows, [1], tmp_path / "killed"):
        monkeypatch.setattr(loop, "_closure", killing)
        with pytest.raises(RuntimeError, match="killed"):
            list(run_grid([planned]))
        monkeypatch.setattr(loop, "_closure", real)
        (done,) = run_grid([planned])
        assert done.status == "done"
        pairs = [(run.folder / "pairs.safetensors").read_bytes() for run in (done, whole[planned.name])]
        assert pairs[0] == pairs[1]


def test_a_failing_run_does_not_stop_the_others(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    rows = {"bad": recipe(training={"max_length": 60_000}), "good": recipe()}
    ended = list(run_grid(plan_runs(rows, [1], tmp_path / "runs")))
    assert [each.status for each in ended] == ["failed", "done"]
    assert "max_length" in ended[0].error


def test_nothing_to_measure_on_is_said_before_the_training(
    recipe: Callable[..., Recipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = plan_runs({"row": recipe()}, [1], tmp_path / "runs")
    empty = tmp_path / "empty"
    empty.mkdir()
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("MIRRORMASK_DATA", str(empty))
        with pytest.raises(DatasetMissing, match="A run is measured on STS tasks, and no data was found for any"):
            list(run_grid(planned))
        assert not planned[0].folder.exists()
    assert [each.status for each in run_grid(planned)] == ["done"]
    monkeypatch.setenv("MIRRORMASK_DATA", str(empty))
    assert [each.status for each in run_grid(planned)] == ["found"], "what is measured needs no data"


def test_a_model_that_is_not_trained(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    planned = plan_runs({"untrained": recipe(evaluation={"untrained": True})}, [1, 2], tmp_path / "runs")
    ended = list(run_grid(planned))
    assert [each.status for each in ended] == ["done", "done"]
    assert ended[0].scores["tasks"] == ended[1].scores["tasks"]
    assert ended[0].scores["model"] == "untrained"
    assert not (ended[0].folder / "run.json").exists()
    assert [each.status for each in run_grid(planned)] == ["found", "found"]


def test_side_by_side(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    """Two processes give the scores that one gives."""
    rows = {"plain": recipe()}
    alone = {each.seed: each for each in run_grid(plan_runs(rows, [1, 2], tmp_path / "alone"))}
    said: list[str] = []
    together = list(run_grid(plan_runs(rows, [1, 2], tmp_path / "together"), jobs=2, prepared=said.append))
    assert said == ["Prepared the text of plain."]
    assert sorted(each.seed for each in together) == [1, 2]
    for each in together:
        assert each.status == "done", each.error
        mine, theirs = each.scores["tasks"]["stsb"], alone[each.seed].scores["tasks"]["stsb"]
        assert mine["spearman_percent"] == pytest.approx(theirs["spearman_percent"], abs=0.5)


def test_one_command_at_a_time_makes_the_runs_of_a_folder(recipe: Callable[..., Recipe], tmp_path: Path) -> None:
    """The second is refused before it touches anything; what a kill left of the prepared text is tidied."""
    out = tmp_path / "runs"
    planned = plan_runs({"a": recipe()}, [1], out)
    out.mkdir()
    holding, done = Event(), Event()

    def hold() -> None:
        with locked(out):
            holding.set()
            done.wait(60)

    other = Thread(target=hold)
    other.start()
    assert holding.wait(60)
    try:
        with pytest.raises(MirrormaskError, match="is in use. Process"):
            list(run_grid(planned))
        assert [path.name for path in out.iterdir()] == [".lock"]
    finally:
        done.set()
        other.join()
    leftover = planned[0].work / ".corpus.1a2b3c4d.partial"
    leftover.mkdir(parents=True)
    assert [outcome.status for outcome in run_grid(planned)] == ["done"]
    assert not leftover.exists()
    assert not (out / ".lock").exists()
