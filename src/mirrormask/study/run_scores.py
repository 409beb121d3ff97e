"""The scores of a run, kept beside it: per task, per pair of sentences, and the shape of the space.

`scores.json` holds the numbers; `pairs.safetensors` holds for every task the cosine of each pair, the score people gave
it and a number that tells the pair, which is what a paired comparison of runs needs. No text is kept.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.storage import atomic_file, read_json, write_json
from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import STS_SUITE, STS_TASKS
from mirrormask.data.text.sources import DatasetMissing
from mirrormask.runs.recipe import Recipe
from mirrormask.runs.versions import versions

SCORES, PAIRS, SCHEMA = "scores.json", "pairs.safetensors", "mirrormask.scores/1"

TASKS = (*STS_SUITE, "stsb-dev")
"""What is measured where a recipe names nothing; tasks whose data is missing are skipped and named."""


def tasks_there(tasks: Sequence[str]) -> tuple[list[ScoredPairs], dict[str, str]]:
    """Return the tasks that can be measured, and for every other one why not.

    Args:
        tasks: STS tasks; none takes all there are.

    Raises:
        DatasetMissing: there is no data for any of them.
    """
    from mirrormask.evaluation.sts import load_tasks

    found, skipped = load_tasks(tasks or TASKS)
    if not found:
        why = next(iter(skipped.values()))
        raise DatasetMissing(f"A run is measured on STS tasks, and no data was found for any. {why}")
    return found, skipped


def score_encoder(encoder: Any, tasks: Sequence[str], folder: Path, facts: dict[str, Any]) -> dict[str, Any]:
    """Measure an encoder on STS tasks and write scores and pairs into the folder of its run.

    Args:
        encoder: what to measure.
        tasks: STS tasks; none takes all there are.
        folder: of the run.
        facts: what else the scores shall say, such as name, recipe and seeds.
    """
    from safetensors.numpy import save

    from mirrormask.evaluation.geometry import measure_shape, pairs_for_shape
    from mirrormask.evaluation.own.pairs_task import similarities
    from mirrormask.evaluation.statistics.correlation import spearman
    from mirrormask.evaluation.sts import sentences
    from mirrormask.evaluation.vectors import TextVectors

    begun = time.monotonic()
    found, skipped = tasks_there(tasks)
    vectors = TextVectors.encode(encoder, sentences(found))
    arrays: dict[str, NDArray[Any]] = {}
    scored = {}
    for task in found:
        cosines = similarities(task, vectors).astype(np.float32)
        arrays[f"{task.name}.cosine"] = cosines
        arrays[f"{task.name}.gold"] = task.scores.astype(np.float32)
        arrays[f"{task.name}.pair"] = task.numbers
        scored[task.name] = {
            "title": STS_TASKS[task.name].title,
            "pairs": len(task),
            "data": _fingerprint(task),
            "spearman_percent": 100 * spearman(cosines, task.scores.astype(np.float32)),
        }
    pairs, on = pairs_for_shape(found)
    shape = measure_shape(pairs, on, [""], [vectors]).measured[0]
    geometry = {"on": on, **{k: v for k, v in shape.to_dict().items() if not k.startswith("singular")}}
    record = {
        "schema": SCHEMA,
        **facts,
        "tasks": scored,
        "skipped": sorted(skipped),
        "geometry": geometry,
        "scoring_seconds": time.monotonic() - begun,
        "versions": versions(),
    }
    with atomic_file(folder / PAIRS, "wb") as stream:
        stream.write(save(arrays))
    write_json(folder / SCORES, record)  # last: where it is, everything is
    return record


def read_scores(folder: Path) -> dict[str, Any]:
    """Return the scores of a run.

    Raises:
        MirrormaskError: they are not there, or not of this kind.
    """
    try:
        record = read_json(folder / SCORES)
    except FileNotFoundError:
        raise MirrormaskError(
            f"{folder} holds no {SCORES}. Runs that are to be compared come from 'mirrormask run RECIPE --seeds 1,2,3'."
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise MirrormaskError(f"{folder / SCORES} is damaged ({error}). Remove it and repeat the run.") from error
    if not isinstance(record, dict) or record.get("schema") != SCHEMA:
        raise MirrormaskError(f"{folder / SCORES} is not of the kind {SCHEMA!r}. Remove it and repeat the run.")
    return record


def read_pairs(folder: Path) -> dict[str, NDArray[Any]]:
    """Return cosines, gold scores and pair numbers of a run, by `TASK.cosine`, `TASK.gold` and `TASK.pair`."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(folder / PAIRS))
    except (OSError, SafetensorError) as error:
        raise MirrormaskError(f"{folder / PAIRS} cannot be read ({error}). Repeat the run.") from error


def comparable(recipe: dict[str, Any]) -> dict[str, Any]:
    """Return what of a recipe's record decides the trained model, as JSON would give it back."""
    plain = json.loads(json.dumps(recipe, default=str))
    return {key: value for key, value in plain.items() if key not in ("expect", "evaluation")}


def same_run(recipe: Recipe, record: dict[str, Any]) -> bool:
    """Return whether a record is of a run of this recipe; what is measured or published may differ."""
    return comparable(recipe.record()) == comparable(record)


def _fingerprint(task: ScoredPairs) -> str:
    rows = zip(task.sentence1, task.sentence2, task.scores.tolist(), strict=True)
    return hashlib.blake2b(repr(list(rows)).encode(), digest_size=8).hexdigest()
