"""Three small tasks whose answers lie in the words, learned together by a tiny encoder."""

from __future__ import annotations

import csv
import dataclasses
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.heads.multitask_model import Multitask
from mirrormask.heads.task_specs import Plan, Task
from mirrormask.runs.folder import RunResult
from mirrormask.runs.multitask import predict_task, train_tasks

SUBJECTS, OBJECTS = (
    ("the old baker", "a young pilot", "the gray cat"),
    ("a wooden boat", "the broken clock", "some bread"),
)


def write(path: Path, header: list[str], rows: list[list[Any]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    return str(path)


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path) -> Plan:
    folder, random = tmp_path_factory.mktemp("tasks"), np.random.default_rng(0)
    texts = [f"{s} {v} {o}." for s in SUBJECTS for v in ("paints", "finds", "carries", "forgets") for o in OBJECTS]
    who = [[text, next(s for s in SUBJECTS if text.startswith(s)).split()[-1]] for text in texts]
    pairs = [[texts[a], texts[b]] for a, b in random.integers(len(texts), size=(120, 2))]
    same = [[*pair, int(pair[0][:8] == pair[1][:8])] for pair in pairs]
    near = [[*pair, 5 * len(set(pair[0].split()) & set(pair[1].split())) / 8] for pair in pairs]
    two = ["sentence1", "sentence2"]
    files = [
        write(folder / "who.csv", ["text", "who"], who),
        write(folder / "same.csv", [*two, "same"], same),
        write(folder / "near.csv", [*two, "near"], near),
    ]
    tasks = {
        "who": Task("who", "classification", files[0], 0.25, label="who"),
        "same": Task("same", "paraphrase", files[1], 0.2, label="same", weight=4.0),
        "near": Task("near", "similarity", files[2], 0.2, label="near"),
    }
    training = {"steps": 60, "learning_rate": 5e-3, "evaluate_every": 20, "precision": "fp32", "max_length": 24}
    return Plan(tasks, str(tiny_folder), "mean", training=training)


@pytest.fixture(scope="module")
def done(plan: Plan, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return train_tasks(plan, tmp_path_factory.mktemp("run") / "out")


def test_all_tasks_are_learned_and_the_best_average_is_kept(done: RunResult) -> None:
    history = done.record["result"]["history"]
    assert [row["step"] for row in history] == [0, 20, 40, 60]
    names = {"who accuracy", "same accuracy", "near Pearson"}
    for row in history:
        assert set(row) == {"step", "score", *names}
        assert row["score"] == pytest.approx(100 * np.mean([row[name] for name in names]))
    best = max(row["score"] for row in history)
    assert done.record["result"]["best_score"] == best > history[0]["score"] + 10
    assert {name: each["measure"] for name, each in done.record["dev"].items()} == {
        "who": "accuracy",
        "same": "accuracy",
        "near": "Pearson",
    }


def test_heads_are_saved_with_the_encoder_and_predict_the_same(done: RunResult, plan: Plan) -> None:
    model = Multitask.load(done.folder)
    rows, answers = predict_task(model, "who", plan.tasks["who"].train)
    assert set(answers) <= {"baker", "pilot", "cat"}
    right = np.mean([row["who"] == answer for row, answer in zip(rows, answers, strict=True)])
    assert right >= done.record["dev"]["who"]["value"] - 0.15
    rows, answers = predict_task(model, "near", plan.tasks["near"].train)
    assert all(0 <= answer <= 5 for answer in answers)
    assert np.corrcoef([float(row["near"]) for row in rows], answers)[0, 1] > 0.4
    assert set(predict_task(model, "same", plan.tasks["same"].train)[1]) <= {0, 1}
    plain = SentenceTransformer(str(done.model), device="cpu")
    np.testing.assert_allclose(plain.encode(["a boat"]), model.encoder.encode(["a boat"]), atol=1e-5)


def test_any_subset_and_another_sampling(plan: Plan, tmp_path: Path) -> None:
    few = dataclasses.replace(
        plan.only(["who", "near"]), sampling="square-root", training={**plan.training, "steps": 4, "evaluate_every": 0}
    )
    found = train_tasks(few, tmp_path / "few")
    assert list(found.record["dev"]) == ["who", "near"]
    assert list(Multitask.load(found.folder).tasks) == ["who", "near"]


def test_a_stopped_run_ends_in_the_same_weights(plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.training import loop

    short = dataclasses.replace(plan, training={**plan.training, "steps": 6, "evaluate_every": 3})
    whole = train_tasks(short, tmp_path / "whole")
    kept = loop.save_checkpoint

    def stop(*given: Any) -> None:
        kept(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "save_checkpoint", stop)
    with pytest.raises(KeyboardInterrupt):
        train_tasks(short, tmp_path / "cut")
    monkeypatch.setattr(loop, "save_checkpoint", kept)
    resumed = train_tasks(short, tmp_path / "cut", resume=True)
    for file in ("model.safetensors", "multitask.safetensors"):
        assert (whole.model / file).read_bytes() == (resumed.model / file).read_bytes()


def test_what_cannot_be_predicted(done: RunResult, plan: Plan, tmp_path: Path, tiny_folder: Path) -> None:
    model = Multitask.load(done.folder)
    with pytest.raises(MirrormaskError, match="The model has no task 'mood'. It has: who, same, near"):
        predict_task(model, "mood", plan.tasks["who"].train)
    with pytest.raises(DataError, match="'sentence1'"):
        predict_task(model, "same", plan.tasks["who"].train)
    with pytest.raises(MirrormaskError, match="The task same reads 2 columns. Got text"):
        predict_task(model, "same", plan.tasks["who"].train, columns=["text"])
    with pytest.raises(ModelError, match="has no heads of tasks"):
        Multitask.load(tiny_folder)
    broken = tmp_path / "broken"
    shutil.copytree(done.model, broken)
    (broken / "multitask.safetensors").write_bytes(b"no weights")
    with pytest.raises(ModelError, match="The heads of tasks in .* are damaged"):
        Multitask.load(broken)
