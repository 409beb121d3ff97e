"""The only training loop: batches in, updates out, evaluated, checkpointed, and resumable to the bit.

Every random choice is derived from a seed and the step, and the learning rate is a function of the step, so a
checkpoint needs no generator states: what a killed run would have done next, the resumed run does.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.tracking import get_available_trackers
from accelerate.utils import LoggerType
from safetensors.torch import save_file
from torch import Tensor, nn

from mirrormask.core.errors import MirrormaskError, TrainingError, one_of
from mirrormask.core.seeding import derive
from mirrormask.core.storage import append_json, atomic_folder, recovered
from mirrormask.models.precision import Precision, best_precision
from mirrormask.stabilizers import Stabilizer
from mirrormask.stabilizers.plain import Plain
from mirrormask.training.averaging import Average
from mirrormask.training.checkpoint import (
    WEIGHTS,
    Progress,
    checkpoint_step,
    load_checkpoint,
    load_weights,
    save_checkpoint,
    weights_of,
)
from mirrormask.training.estimate import Remaining
from mirrormask.training.gather import on_cpu
from mirrormask.training.interrupts import Looks, interrupts
from mirrormask.training.losses import Broken, Losses
from mirrormask.training.optimizer import adamw, clipped_together, groups_of, muon, rate_at
from mirrormask.training.settings import Settings
from mirrormask.training.update import Updates, all_finite

CHECKPOINT, BEST, METRICS = "checkpoint", "best", "metrics.jsonl"


class Source(Protocol):
    """Where batches come from: any batch by its number, the same each time."""

    def __len__(self) -> int:
        """Return the number of batches in an epoch."""

    def stream(self, start: int, stop: int, rank: int, world: int) -> Iterator[Any]:
        """Yield the batches from `start` to `stop`, this process's share of each."""


@dataclass(frozen=True)
class Score:
    """One evaluation: the number that chooses, and what else was measured."""

    value: float
    details: dict[str, float] = field(default_factory=dict)


class Reporter:
    """Is told how a run goes; the command line shows it, a library call need not."""

    def say(self, text: str) -> None:
        """Take note of something in words."""

    def start(self, total: int, done: int, precision: Precision) -> None:
        """Begin, or go on after `done` updates."""

    def step(self, step: int, metrics: dict[str, float]) -> None:
        """Take note of an update; `seconds_left` is what the rest of the run will take."""

    def evaluated(self, step: int, score: Score, best: bool) -> None:
        """Take note of an evaluation."""

    def stop(self) -> None:
        """End."""


class Interrupted(MirrormaskError):
    """The user stopped the run; a checkpoint was left."""

    exit_code = 130


@dataclass(frozen=True)
class Result:
    """How a run ended.

    Args:
        steps: updates done.
        best_step: the checkpoint that was kept; the model now has its weights.
        best_score: its score, where there was an evaluation.
        history: one row per evaluation.
        seconds: time in this process.
        stopped_early: whether patience ran out.
        kept_start: whether no checkpoint was better than the weights before training, so that those were kept.
    """

    steps: int
    best_step: int
    best_score: float | None
    history: list[dict[str, Any]]
    seconds: float
    stopped_early: bool
    kept_start: bool = False


def fit(
    model: nn.Module,
    source: Source,
    settings: Settings,
    folder: Path,
    *,
    stabilizer: Stabilizer | None = None,
    evaluate: Callable[[], Score] | None = None,
    reporter: Reporter | None = None,
    resume: bool = False,
    plan: dict[str, Any] | None = None,
    same_rate: bool = False,
    start: Score | None = None,
) -> Result:
    """Train `model` and leave it with the weights of its best evaluation (the last, where there is none).

    Args:
        model: `model(batch, seed)` is the loss; `model.observe()` is called after each update where it exists, and what
            `model.similarities()` measures is logged with it. Groups that `model.parameter_groups()` names, where it
            exists, have a learning rate, weight decay and clipping of their own.
        source: the batches.
        settings: how to run.
        folder: where metrics and checkpoints go.
        stabilizer: how gradients become an update.
        evaluate: the score to choose by, larger is better.
        reporter: is told how it goes.
        resume: go on from the checkpoint in `folder`.
        plan: what the run is; a checkpoint of another plan is refused.
        same_rate: refuse a checkpoint of another learning rate too, instead of going on with the new one.
        start: the score before training, where it is known.
    """
    reporter = reporter or Reporter()
    stabilizer = stabilizer or Plain()
    total = settings.total_steps(len(source))
    evaluate_every = settings.evaluate_every or max(1, total // 10)
    checkpoint_every = settings.checkpoint_every or evaluate_every
    plan = {**asdict(settings), "total": total, **(plan or {})}
    accelerator, precision = _accelerator(settings, folder)
    model.to(accelerator.device)
    optimizer = (muon if settings.optimizer == "muon" else adamw)(
        model, learning_rate=settings.learning_rate, weight_decay=settings.weight_decay, betas=settings.betas
    )
    average = Average(model, settings.average)
    progress = None
    if resume:
        progress = load_checkpoint(recovered(folder / CHECKPOINT), model, optimizer, average, plan, same_rate=same_rate)
    if progress is not None and progress.plan["learning_rate"] != settings.learning_rate:
        was = progress.plan["learning_rate"]
        reporter.say(
            f"From step {progress.step + 1} on the learning rate is {settings.learning_rate:g}; it was {was:g}."
        )
    progress = progress or Progress()
    progress.plan = plan
    observe: Callable[[], None] | None = getattr(model, "observe", None)
    similarities: Callable[[], dict[str, Tensor]] | None = getattr(model, "similarities", None)
    wrapped, prepared = accelerator.prepare(model, optimizer)
    clipped = clipped_together(groups_of(model), settings.clip)
    updates = Updates(accelerator, model, optimizer, prepared, average, clipped)
    if settings.trackers:
        accelerator.init_trackers("mirrormask", config={k: str(v) for k, v in plan.items()})
    _truncate_metrics(folder / METRICS, progress.step)

    begun = time.monotonic()
    first, stopped_early = progress.step, False
    batches = source.stream(
        first * settings.accumulation,
        total * settings.accumulation,
        accelerator.process_index,
        accelerator.num_processes,
    )
    losses = Losses()
    remaining = Remaining(first, total, evaluate_every if evaluate is not None else 0)
    reporter.start(total, first, precision)
    with contextlib.ExitStack() as stack:
        stack.callback(reporter.stop)
        stack.callback(batches.close)  # type: ignore[attr-defined]
        looks = Looks(accelerator.device, accelerator.num_processes, stack.enter_context(interrupts()))
        model.train()
        if evaluate is not None and first == 0 and not progress.history:
            known = evaluate if start is None else lambda: start
            _evaluate(known, accelerator, model, average, progress, folder, reporter)
        for step in range(first, total):
            group = [next(batches) for _ in range(settings.accumulation)]
            share = rate_at(step, total, schedule=settings.schedule, warmup=settings.warmup)
            for parameters in optimizer.param_groups:
                parameters["lr"] = settings.learning_rate * share * parameters["rate"]
            closure = _closure(wrapped, optimizer, group, accelerator, settings, step)
            loss = stabilizer.step(closure, model)
            norm, updated = updates.step(loss, max(parameters["lr"] for parameters in optimizer.param_groups))
            if observe is not None and updated:
                observe()
            done = step + 1
            seen = similarities() if similarities and updated else None
            losses.add(done, loss, norm, share * settings.learning_rate, seen, updated=updated)
            progress.step = done
            measure = evaluate is not None and (done % evaluate_every == 0 or done == total)
            keep = done % checkpoint_every == 0 and done < total
            if looks.due(done, anyway=measure or keep or done == total):
                rows, broken = losses.take()
                _report(rows, accelerator, folder, reporter, remaining.seconds(done))
                if broken is not None:
                    raise _broken(broken, updates, accelerator, progress, folder)
            if evaluate is not None and measure:
                with remaining.evaluation():
                    _evaluate(evaluate, accelerator, model, average, progress, folder, reporter)
                stopped_early = bool(settings.patience) and progress.stale >= settings.patience
            stop = looks.stop and done < total and not stopped_early
            if (keep and not stopped_early) or stop:
                if not all_finite(model):
                    raise _broken(Broken(done), updates, accelerator, progress, folder)
                if accelerator.is_main_process:
                    save_checkpoint(folder / CHECKPOINT, model, optimizer, average, progress)
                accelerator.wait_for_everyone()
            if stop:
                raise Interrupted(f"Stopped after {done} of {total} steps; a checkpoint is in {folder / CHECKPOINT}.")
            if stopped_early:
                break
    if settings.trackers:
        accelerator.end_training()
    accelerator.wait_for_everyone()
    average.apply()
    if evaluate is not None and recovered(folder / BEST).is_dir() and progress.best_step != progress.step:
        load_weights(folder / BEST / WEIGHTS, model)
    accelerator.unwrap_model(wrapped).eval()
    return Result(
        steps=progress.step,
        best_step=progress.best_step if evaluate is not None else progress.step,
        best_score=progress.best_score,
        history=progress.history,
        seconds=time.monotonic() - begun,
        stopped_early=stopped_early,
        kept_start=evaluate is not None and progress.best_step == 0,
    )


def _accelerator(settings: Settings, folder: Path) -> tuple[Accelerator, Precision]:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    precision = best_precision(device, settings.precision)
    mixed = "no" if precision.name == "fp32" else precision.name
    trackers = list(settings.trackers) or None
    check_trackers(settings.trackers)
    AcceleratorState._reset_state()  # one process may run several recipes, each with its own precision
    return Accelerator(
        cpu=on_cpu(), mixed_precision=mixed, log_with=trackers, project_dir=str(folder) if trackers else None
    ), precision


def check_trackers(names: tuple[str, ...]) -> None:
    """Refuse a tracker that accelerate does not know, or whose package is not installed."""
    there = [str(each) for each in get_available_trackers()]
    for name in names:
        one_of("trackers", name, [str(each) for each in LoggerType], of="training")
        if name not in (*there, "all"):
            raise MirrormaskError(
                f"The tracker {name!r} needs its package, which is not installed. Install it with pip, or leave out "
                f"--tracker: metrics are in {METRICS} anyway."
            )


def _closure(
    wrapped: nn.Module,
    optimizer: torch.optim.Optimizer,
    group: list[Any],
    accelerator: Accelerator,
    settings: Settings,
    step: int,
) -> Callable[..., Tensor]:
    """Return what a stabilizer may call: gradients of the whole accumulated batch, the same dropout for each draw."""

    def run(draw: int = 0) -> Tensor:
        optimizer.zero_grad(set_to_none=True)
        losses = []
        for part, batch in enumerate(group):
            seed = derive(settings.seeds.dropout, "step", step, part, accelerator.process_index, *[draw] * bool(draw))
            torch.manual_seed(seed)
            last = part == len(group) - 1
            with contextlib.nullcontext() if last else accelerator.no_sync(wrapped):
                loss = wrapped(batch, seed) / len(group)
                accelerator.backward(loss)
            losses.append(loss.detach())
        return torch.stack(losses).sum()

    return run


def _broken(
    broken: Broken, updates: Updates, accelerator: Accelerator, progress: Progress, folder: Path
) -> TrainingError:
    """Keep the last weights at which the loss was a number, where they are still there, and say where they are."""
    where = folder / CHECKPOINT
    progress.step = broken.step - 1
    if not broken.finite and updates.take_back():  # the loss is that of the weights before this step's update
        progress.step -= 1
    progress.history = [row for row in progress.history if row["step"] <= progress.step]
    if accelerator.is_main_process and all_finite(updates.model):
        save_checkpoint(where, updates.model, updates.optimizer, updates.average, progress)
    accelerator.wait_for_everyone()
    kept = checkpoint_step(where)
    left = f"the last good weights are in {where} (step {kept})" if kept is not None else "there is no checkpoint"
    way = "Go on with --resume and a lower --learning-rate." if kept is not None else "Lower the learning rate."
    return TrainingError(f"{broken}: training stopped there, and {left}. {way}")


def _report(
    rows: list[dict[str, float]], accelerator: Accelerator, folder: Path, reporter: Reporter, left: float
) -> None:
    if not accelerator.is_main_process:
        return
    append_json(folder / METRICS, rows)
    for row in rows:
        reporter.step(int(row["step"]), {**row, "seconds_left": left})
        if accelerator.trackers:
            accelerator.log(row, step=int(row["step"]))


def _evaluate(
    evaluate: Callable[[], Score],
    accelerator: Accelerator,
    model: nn.Module,
    average: Average,
    progress: Progress,
    folder: Path,
    reporter: Reporter,
) -> None:
    """Score the model on every process, so that all agree, and keep its weights where it is the best so far."""
    model.eval()
    with average.applied():
        score = evaluate()
        beaten = progress.best_score is None or math.isnan(progress.best_score)  # anything is better than no number
        gained = beaten or score.value > (progress.best_score or 0.0)
        # of equals the later has learned more, but one that is no better than the start has learned nothing
        best = gained or (score.value == progress.best_score and progress.best_step > 0)
        if best and accelerator.is_main_process:  # here, where the model has the weights that were measured
            with atomic_folder(folder / BEST) as out:
                save_file(weights_of(model), out / WEIGHTS)
    model.train()
    row = {"step": progress.step, "score": score.value, **score.details}
    progress.history.append(row)
    if best:
        progress.best_score, progress.best_step = score.value, progress.step
    progress.stale = 0 if gained else progress.stale + 1
    if accelerator.is_main_process:
        append_json(folder / METRICS, [{"evaluation": True, **row}])
        reporter.evaluated(progress.step, score, best)
        if accelerator.trackers:
            accelerator.log({f"evaluation/{k}": v for k, v in row.items() if k != "step"}, step=progress.step)


def _truncate_metrics(path: Path, step: int) -> None:
    """Drop the lines a killed run wrote after its last checkpoint; they will be written again."""
    import json

    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            if json.loads(line).get("step", 0) <= step and step:
                kept.append(line)
    path.write_text("".join(line + "\n" for line in kept), encoding="utf-8")
