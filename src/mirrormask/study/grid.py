"""Recipes times seeds: plan the runs, make those that are missing, several at a time where asked, and score each."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import multiprocessing
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mirrormask.core.errors import MirrormaskError, at_least, one_of
from mirrormask.core.locking import locked
from mirrormask.core.seeding import Seeds
from mirrormask.core.storage import recovered
from mirrormask.runs.recipe import Recipe
from mirrormask.study.rows import keep_order
from mirrormask.study.run_scores import SCORES, read_scores, same_run, score_encoder, tasks_there

if TYPE_CHECKING:
    from mirrormask.runs.folder import RunResult

PREPARED = ("corpus", "tokens", "pairs")
"""What there is of a prepared text."""

_stopped: list[MirrormaskError] = []
"""In a process that makes runs: how it was stopped, so that it begins no other run."""

TEXT = ".text"
"""The folder, beside the runs, of prepared text that they share."""

VARIED = {"order": "data", "dropout": "dropout", "initialization": "initialization"}
"""What a seed may decide, and the seed of the recipe it stands for."""


@dataclass(frozen=True)
class Planned:
    """One run to make.

    Args:
        name: of its row in a comparison: the recipe's.
        seed: what its folder is named after.
        recipe: with this seed in it.
        folder: where it goes.
        work: the prepared text it shares.
        keep_model: keep the encoder after it was measured.
    """

    name: str
    seed: int
    recipe: Recipe
    folder: Path
    work: Path
    keep_model: bool = True


@dataclass(frozen=True)
class Outcome:
    """How one run ended.

    Args:
        name: of its row.
        seed: its seed.
        folder: where it is.
        status: `done`, `found` (it was finished already) or `failed`.
        scores: as in its scores.json; empty where it failed.
        error: what went wrong.
        exit_code: of the command, if this was all it did.
        seconds: how long it took.
    """

    name: str
    seed: int
    folder: Path
    status: str
    scores: dict[str, Any] = dataclasses.field(default_factory=dict)
    error: str = ""
    exit_code: int = 0
    seconds: float = 0.0


def plan_runs(
    recipes: Mapping[str, Recipe],
    seeds: Sequence[int],
    out: Path,
    *,
    vary: Sequence[str] = tuple(VARIED),
    keep_models: bool = True,
) -> list[Planned]:
    """Return every recipe with every seed, seed by seed, so that a study that is stopped has whole seeds.

    Args:
        recipes: by the name of their row.
        seeds: what differs between the runs of a recipe.
        out: the folder of all runs; one is at `out/NAME/seed-SEED`.
        vary: what the seed decides: `order` of the data, `dropout`, `initialization`; the rest stays at the recipe's.
            Where it is not all three the row is called after it, such as `NAME-order`.
        keep_models: keep the encoders after they were measured.
    """
    if not vary:
        raise MirrormaskError(f"Something must differ between seeds: name some of {', '.join(VARIED)}. Got none.")
    for name in vary:
        one_of("vary", name, VARIED, of="a run over seeds")
    if len(set(seeds)) != len(seeds) or not seeds:
        raise MirrormaskError(f"Seeds must be different whole numbers, at least one. Got {list(seeds)}.")
    only = "" if set(vary) == set(VARIED) else "".join(f"-{name}" for name in VARIED if name in vary)
    planned = []
    for seed in seeds:
        for name, recipe in recipes.items():
            if "-" in recipe.data.corpus:
                raise MirrormaskError("Several runs cannot share stdin. Give the text as a file.")
            changed = dataclasses.replace(recipe.seeds, **{VARIED[part]: seed for part in vary})
            made = dataclasses.replace(recipe, seeds=changed)
            folder = out / f"{name}{only}" / f"seed-{seed}"
            planned.append(Planned(f"{name}{only}", seed, made, folder, out / TEXT / _text_key(recipe), keep_models))
    return planned


def run_planned(planned: Planned, reporter: Any = None) -> Outcome:
    """Make one run, or what is missing of it: training, then scores."""
    from mirrormask.models.encoder import build_encoder
    from mirrormask.runs.runner import run_recipe

    begun = time.monotonic()
    folder, recipe = planned.folder, planned.recipe
    found = _finished(planned)
    if found is not None:
        return Outcome(planned.name, planned.seed, folder, "found", found)
    if recipe.evaluation.untrained:
        folder.mkdir(parents=True, exist_ok=True)
        encoder = build_encoder(recipe.model.name, pooling=recipe.model.pooling or None)
        facts = {**_facts(planned.name, recipe), "model": "untrained"}
        scores = score_encoder(encoder, recipe.evaluation.tasks, folder, facts)
    else:
        done = run_recipe(recipe, folder, resume=True, reporter=reporter, work=planned.work, same_rate=True)
        scores = score_run(done, recipe, planned.name, keep_model=planned.keep_model)
    return Outcome(planned.name, planned.seed, folder, "done", scores, seconds=time.monotonic() - begun)


def score_run(done: RunResult, recipe: Recipe, name: str, *, keep_model: bool = True) -> dict[str, Any]:
    """Measure what a run left behind, and keep the scores in its folder.

    Args:
        done: the run.
        recipe: what it was a run of.
        name: of its row in a comparison.
        keep_model: keep the encoder after it was measured.
    """
    from mirrormask.models.encoder import build_encoder

    record = done.record
    if not same_run(recipe, record["recipe"]):
        raise _another_run(done.folder)
    facts = {
        **_facts(name, recipe),
        "parts": record["parts"],
        "settings": record["settings"],
        "data": record["data"]["fingerprint"],
        "best_step": record["result"]["best_step"],
        "best_score": record["result"]["best_score"],
        "training_seconds": record["result"]["seconds"],
        "device": record["device"],
        "precision": record["precision"],
        "model": "kept" if keep_model else "dropped",
    }
    scores = score_encoder(build_encoder(done.model), recipe.evaluation.tasks, done.folder, facts)
    if not keep_model:
        shutil.rmtree(done.model, ignore_errors=True)
    return scores


def _facts(name: str, recipe: Recipe) -> dict[str, Any]:
    return {"name": name, "seeds": dataclasses.asdict(recipe.seeds), "recipe": recipe.record()}


def run_grid(
    planned: Sequence[Planned],
    *,
    jobs: int = 1,
    reporter: Any = None,
    prepared: Callable[[str], None] | None = None,
) -> Iterator[Outcome]:
    """Make all planned runs and yield how each ended; one that fails does not stop the others.

    Args:
        planned: the runs.
        jobs: processes that run side by side, sharing the GPU where there is one.
        reporter: is told how a run goes, where there is one process.
        prepared: is told when a text has been prepared.
    """
    at_least("jobs", jobs, 1, of="a run over seeds")
    if not planned:
        return
    out = planned[0].folder.parents[1]
    out.mkdir(parents=True, exist_ok=True)
    with locked(out):
        keep_order(out, (each.name for each in planned))
        for path in {each.work / name for each in planned for name in PREPARED}:
            recovered(path)
        yield from _run_grid(planned, jobs, reporter, prepared)


def _run_grid(
    planned: Sequence[Planned], jobs: int, reporter: Any, prepared: Callable[[str], None] | None
) -> Iterator[Outcome]:
    missing = [each for each in planned if not (each.folder / SCORES).is_file()]
    for tasks in {each.recipe.evaluation.tasks for each in missing}:
        tasks_there(tasks)  # or say that there is nothing to measure on before the training, not after it
    jobs = min(jobs, max(1, len(missing)))
    if jobs == 1:
        for each in planned:
            yield _caught(each, reporter)
        return
    _prepare(missing, prepared)
    threads = max(1, (os.cpu_count() or 1) // jobs)
    context = multiprocessing.get_context("spawn")  # a GPU cannot be shared with a forked process
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(threads,)) as pool:
        waiting = {pool.submit(_caught, each): each for each in planned}
        try:
            for future in as_completed(waiting):
                try:
                    yield future.result()
                except BrokenProcessPool:
                    each = waiting[future]
                    lost = "The process of this run was killed, perhaps for memory: repeat with fewer --jobs."
                    yield Outcome(each.name, each.seed, each.folder, "failed", error=lost, exit_code=5)
        except BaseException:
            working = list((pool._processes or {}).values())
            pool.shutdown(wait=False, cancel_futures=True)
            for process in working:
                process.terminate()  # ends the step and leaves a checkpoint
            raise


def _caught(planned: Planned, reporter: Any = None) -> Outcome:
    """Make a run and return what went wrong as text, which every process can hand on."""
    if _stopped and multiprocessing.parent_process() is not None:
        raise _stopped[0]
    try:
        return run_planned(planned, reporter)
    except MirrormaskError as error:
        if error.exit_code == 130:  # stopped by the user, and so are the others
            _stopped.append(error)
            raise
        return Outcome(
            planned.name, planned.seed, planned.folder, "failed", error=str(error), exit_code=error.exit_code
        )
    finally:
        if "torch" in sys.modules:
            sys.modules["torch"].compiler.reset()  # else the runs of one process would count as so many recompilations


def _finished(planned: Planned) -> dict[str, Any] | None:
    """Return the scores of a run that is complete; None where something is left to do."""
    if not (planned.folder / SCORES).is_file():
        return None
    record = read_scores(planned.folder)
    if not same_run(planned.recipe, record["recipe"]):
        raise _another_run(planned.folder)
    measured = {*record["tasks"], *record["skipped"]}
    if set(planned.recipe.evaluation.tasks) <= measured:
        return record
    if record["model"] == "dropped":
        raise MirrormaskError(
            f"{planned.folder} was measured on other tasks and its encoder was not kept. Remove it to repeat the run."
        )
    return None


def _another_run(folder: Path) -> MirrormaskError:
    return MirrormaskError(
        f"{folder} holds a run of another recipe or other settings. Give another --out, or remove the folder."
    )


def _prepare(planned: Sequence[Planned], prepared: Callable[[str], None] | None) -> None:
    """Prepare each different text once, before processes would do so side by side."""
    from mirrormask.runs.runner import prepare_text

    training = ("steps", "batch_size", "accumulation", "max_length")  # which decide whether all of it is tokenized
    different = {(each.work, *(each.recipe.training.get(key) for key in training)): each for each in planned}
    for each in different.values():
        if each.recipe.evaluation.untrained:
            continue
        prepare_text(each.recipe, each.work)
        if prepared is not None:
            prepared(f"Prepared the text of {each.name}.")


def _begin(threads: int) -> None:
    """Begin a process that makes runs: it ends with the one that started it, whatever ends that one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first process tells the others what to do
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import torch

    torch.set_num_threads(threads)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # at once: whatever is written replaces what was there only once it is whole


def _text_key(recipe: Recipe) -> str:
    """Return a name for the prepared text: recipes with the same one may share it."""
    pairing = dataclasses.asdict(recipe.pairing) if recipe.pairing.name else recipe.method.name
    length = recipe.training.get("max_length", "")
    content = [dataclasses.asdict(recipe.data), recipe.model.name, recipe.model.template, pairing, length]
    return hashlib.blake2b(json.dumps(content, default=str).encode(), digest_size=6).hexdigest()


def own_seed(recipe: Recipe) -> int:
    """Return the one seed of a recipe.

    Raises:
        MirrormaskError: it has three different ones.
    """
    if recipe.seeds != Seeds.all(recipe.seeds.data):
        raise MirrormaskError("The recipe has different seeds for data, dropout and initialization: name --seeds.")
    return recipe.seeds.data
