"""A time budget in updates: measured once on real rows, so that the learning rate still ends at zero."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from mirrormask.core.storage import read_json, write_json
from mirrormask.core.wording import counted
from mirrormask.models.precision import Precision
from mirrormask.pretraining.flops import wait
from mirrormask.pretraining.model import Pretraining
from mirrormask.pretraining.packing import PackedRows
from mirrormask.training.compiling import should_compile
from mirrormask.training.gather import world
from mirrormask.training.loop import Reporter
from mirrormask.training.settings import Settings

EVALUATIONS = 10
"""Evaluations of a run that does not say how often, besides the one before the first update."""


def steps_in(
    path: Path,
    model: Pretraining,
    rows: PackedRows,
    settings: Settings,
    precision: Precision,
    minutes: float,
    reporter: Reporter,
    evaluate: Callable[[], object],
) -> int:
    """Return the number of updates that fit into so many minutes; what was planned in `path` stays planned.

    Args:
        path: where the plan is kept, so that a resumed run has the same number.
        model: what will be trained.
        rows: its batches.
        settings: of the loop.
        precision: of the forward.
        minutes: the budget.
        reporter: is told what was measured.
        evaluate: what is done before the first update and every now and then; its time counts too.
    """
    if path.is_file():
        return int(read_json(path)["steps"])
    device = model.lm.device
    if should_compile(settings.compile, device, 1 << 30, rows.length):
        model.compile()
    model.train()
    rank, processes = world()
    begun = time.monotonic()
    batch = rows.at(0, rank=rank, world=processes)
    reading = time.monotonic() - begun if device.type == "cpu" else 0.0  # a GPU computes meanwhile
    warm, timed = (3, 20) if device.type == "cuda" else (1, 2)
    for number in range(warm + timed):
        if number == warm:
            wait(device)
            begun = time.monotonic()
        with precision.autocast(device):
            loss = model(batch, number)
        loss.backward()
    wait(device)
    seconds = (time.monotonic() - begun) / timed + reading
    model.zero_grad(set_to_none=True)
    begun = time.monotonic()
    evaluate()
    evaluation = time.monotonic() - begun
    step = 1.04 * seconds * settings.accumulation  # with updates and logging
    steps = steps_for(minutes * 60, step, evaluation, settings.evaluate_every)
    reporter.say(
        f"A step takes {seconds:.3f} s and an evaluation {evaluation:.1f} s, so "
        f"{counted(minutes, 'minute')} make about {counted(steps, 'step')}."
    )
    write_json(path, {"steps": steps})
    return steps


def steps_for(seconds: float, step: float, evaluation: float, every: int) -> int:
    """Return how many updates fit into a time with their evaluations, the one before the first update included.

    Args:
        seconds: the time.
        step: seconds of an update.
        evaluation: seconds of an evaluation.
        every: updates between evaluations; 0 for ten in all.

    Example:
        >>> steps_for(100.0, 1.0, 0.0, 0), steps_for(100.0, 1.0, 5.0, 0), steps_for(100.0, 1.0, 5.0, 5)
        (100, 45, 47)
    """
    left = seconds - evaluation
    if every:
        return max(1, int(left / (step + evaluation / every)))
    return max(1, int((left - EVALUATIONS * evaluation) / step))
