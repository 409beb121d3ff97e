"""Learning several tasks together: the commands `mirrormask multitask train` and `predict` as functions."""

from __future__ import annotations

import dataclasses
import hashlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.core.seeding import Seeds, derive
from mirrormask.core.storage import write_json
from mirrormask.core.wording import counted
from mirrormask.data.batching import Batches
from mirrormask.data.tasks.classified import rows_of, text_cell
from mirrormask.data.text.files import check_columns
from mirrormask.heads.multitask_model import Multitask
from mirrormask.heads.task_batches import TaskBatches
from mirrormask.heads.task_rows import TaskRows, TokenizedTask, split_rows
from mirrormask.heads.task_specs import TRAINING, Plan, Task
from mirrormask.models.encoder import build_encoder
from mirrormask.models.precision import best_precision, varied_shapes
from mirrormask.runs.folder import MODEL, RECORD, RunResult, held_folder, spare_read, tidy
from mirrormask.runs.versions import versions
from mirrormask.training.gather import join, world
from mirrormask.training.loop import Reporter, Result, Score, check_trackers, fit
from mirrormask.training.quick_dropout import quickened
from mirrormask.training.settings import Settings


def train_tasks(plan: Plan, out: str | Path, *, resume: bool = False, reporter: Reporter | None = None) -> RunResult:
    """Train an encoder and the heads of all tasks, and keep the weights of the best average.

    Args:
        plan: the tasks and how to learn them.
        out: folder of the run; encoder and heads will be in `out/model`, a sentence encoder like any other.
        resume: go on from the last checkpoint in `out`.
        reporter: is told how it goes.
    """
    out = Path(out)
    reporter = (reporter if join()[0] == 0 else None) or Reporter()
    with held_folder(out, resume=resume) as finished:
        if finished is not None:
            reporter.say(f"{out} is finished already; its model is in {out / MODEL}.")
            return finished
        read = [each for task in plan.tasks.values() for each in (task.train, task.dev) if isinstance(each, str)]
        spare_read(out, *read, plan.model)
        return _train(plan, out, reporter, resume=resume)


def _train(plan: Plan, out: Path, reporter: Reporter, *, resume: bool) -> RunResult:
    rows = {name: split_rows(task, seed=plan.seed) for name, task in plan.tasks.items()}
    for name, (train, dev) in rows.items():
        left = f"; {counted(train.skipped, 'row')} without a text or a label left out" if train.skipped else ""
        seen = f"{counted(len(train), 'row')} to learn from, {counted(len(dev), 'row')} to measure on"
        reporter.say(f"{name}: {seen}{left}.")
    torch.manual_seed(derive(plan.seed, "weights"))
    encoder = build_encoder(plan.model, pooling=plan.pooling or None)
    settings = _settings(plan, encoder)
    classes = {name: train.classes for name, (train, _) in rows.items() if train.classes}
    model = Multitask(encoder, plan.tasks, classes, chunk=settings.large_batch or None)
    frame = getattr(encoder[0], "frame", None) or frame_of(encoder.tokenizer)
    batches = {
        name: Batches(
            TokenizedTask(encoder.tokenizer, train),
            frame,
            batch_size=min(plan.tasks[name].batch_size, len(train)),
            max_length=settings.max_length,
            seed=derive(plan.seed, "order", name),
            drop_last=len(train) >= plan.tasks[name].batch_size,
            min_rows=world()[1],
        )
        for name, (train, _) in rows.items()
    }
    source = TaskBatches(batches, sampling=plan.sampling, steps=settings.steps, seed=plan.seed)
    total = settings.total_steps(len(source))
    if not settings.steps and plan.sampling != "together":
        source = TaskBatches(batches, sampling=plan.sampling, steps=total, seed=plan.seed)
    if not settings.evaluate_every:
        settings = dataclasses.replace(settings, evaluate_every=min(len(source), total))
    judge = DevScores(model, {name: dev for name, (_, dev) in rows.items()})
    reporter.say(f"{counted(total, 'step')}, {len(source)} an epoch; measured every {settings.evaluate_every}.")
    with quickened(model), varied_shapes():
        result = fit(
            model,
            source,
            settings,
            out,
            evaluate=judge,
            reporter=reporter,
            resume=resume,
            plan={"multitask": plan.record(), "data": _digest(rows), "processes": world()[1]},
        )
    record = _record(plan, settings, rows, result, model)
    if world()[0] == 0:
        model.save(out / MODEL, facts=_facts(plan, result))
        write_json(out / RECORD, record)
        tidy(out)
    return RunResult(out, out / MODEL, record)


class DevScores:
    """Measures a model as it is now on the rows of every task set aside; the mean of the measures decides.

    Args:
        model: encoder and heads.
        rows: of each task.
    """

    def __init__(self, model: Multitask, rows: Mapping[str, TaskRows]) -> None:
        self.model, self.rows = model, rows

    def __call__(self) -> Score:
        """Return the mean in percent, and each task's measure as a fraction."""
        found = {}
        for name, rows in self.rows.items():
            predicted = self.model.predict(name, rows.columns)
            found[_measured(self.model.tasks[name])] = self.model.head(name).score(predicted, rows.labels)
        return Score(100 * float(np.mean(list(found.values()))), found)


def predict_task(
    model: Multitask, task: str, source: str | Path, *, columns: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the rows of a table and what a task's head says about each.

    Args:
        model: encoder and heads.
        task: its name.
        source: a file of any format, or a dataset as `owner/name:split`.
        columns: of the texts; by default those of the training.

    Raises:
        DataError: no such file or column, or a row without text.
    """
    if task not in model.tasks:
        raise MirrormaskError(f"The model has no task {task!r}. It has: {', '.join(model.tasks)}.")
    asked = tuple(columns) or model.tasks[task].columns
    if len(asked) != len(model.tasks[task].columns):
        raise MirrormaskError(
            f"The task {task} reads {counted(len(model.tasks[task].columns), 'column')}. Got {', '.join(asked)}."
        )
    rows, texts = [], [list[str]() for _ in asked]
    for number, row in enumerate(rows_of(source), 1):
        check_columns(source, asked, list(row), f" in row {number}")
        for column, found in zip(asked, texts, strict=True):
            found.append(text_cell(row[column], column, f"{source}, row {number}"))
        rows.append(row)
    return rows, model.named(task, model.predict(task, texts))


def _measured(task: Task) -> str:
    """Return what a task's measure is called in the history of a run."""
    return f"{task.name} {task.measure}"


def _settings(plan: Plan, encoder: Any) -> Settings:
    own = dict(TRAINING)
    if "epochs" in plan.training:  # asked for, so the report's number of steps must not win
        own.pop("steps")
    positions = getattr(encoder[0].model.config, "max_position_embeddings", None)
    longest = int(min(positions or 512, encoder.tokenizer.model_max_length))
    own["max_length"] = min(own["max_length"], longest)
    settings = Settings(**{**own, **plan.training}, seeds=Seeds.all(plan.seed))
    if settings.max_length > longest:
        raise MirrormaskError(
            f"The 'max_length' of training must be at most {longest}, the most this model can read. "
            f"Got {settings.max_length}."
        )
    check_trackers(settings.trackers)
    encoder.max_seq_length = settings.max_length
    return settings


def _facts(plan: Plan, result: Result) -> dict[str, Any]:
    return {
        "base_model": plan.model,
        "method": "multitask",
        "tasks": ", ".join(f"{name} ({task.kind})" for name, task in plan.tasks.items()),
        "steps": result.best_step,
        "chosen_by": "the mean over the tasks",
        "score": result.best_score,
        "learned_from": "labels",
        "trained_with": f"mirrormask {versions()['mirrormask']}",
    }


def _record(
    plan: Plan,
    settings: Settings,
    rows: Mapping[str, tuple[TaskRows, TaskRows]],
    result: Result,
    model: Multitask,
) -> dict[str, Any]:
    best = next((row for row in result.history if row["step"] == result.best_step), {})
    data = {
        name: {"source": train.source, "train": len(train), "dev_source": dev.source, "dev": len(dev)}
        for name, (train, dev) in rows.items()
    }
    return {
        "multitask": plan.record(),
        "settings": dataclasses.asdict(settings),
        "data": data,
        "dev": {
            name: {"measure": task.measure, "value": best.get(f"{name} {task.measure}")}
            for name, task in plan.tasks.items()
        },
        "result": dataclasses.asdict(result),
        "device": str(model.encoder.device),
        "precision": best_precision(model.encoder.device, settings.precision).name,
        "processes": world()[1],
        "versions": versions(),
        "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def _digest(rows: Mapping[str, tuple[TaskRows, TaskRows]]) -> str:
    found = hashlib.blake2b(digest_size=8)
    for parts in rows.values():
        for part in parts:
            for texts in part.columns:
                found.update("\0".join(texts).encode("utf-8", "surrogatepass"))
            found.update(part.labels.tobytes())
    return found.hexdigest()
