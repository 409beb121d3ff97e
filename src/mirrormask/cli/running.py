"""What `train` and `run` share: perform a recipe, show it, and say how to go on after an interruption."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mirrormask.cli.output import Output
from mirrormask.cli.progress import measured, reporter_for
from mirrormask.runs.recipe import Recipe


def perform(recipe: Recipe, out: Path, *, resume: bool, output: Output) -> None:
    """Run the recipe and print its result."""
    from mirrormask.models.model_files import opens_plainly
    from mirrormask.runs.runner import run_recipe
    from mirrormask.training.gather import world
    from mirrormask.training.loop import Interrupted

    reporter = reporter_for(output)
    if recipe.evaluation.tasks:
        from mirrormask.study.run_scores import tasks_there

        tasks_there(recipe.evaluation.tasks)
    try:
        done = run_recipe(recipe, out, resume=resume, reporter=reporter)
    except Interrupted as stop:
        raise Interrupted(f"{stop} Go on with: {resume_command()}") from None
    if recipe.evaluation.tasks and world()[0] == 0:
        from mirrormask.study.grid import score_run

        done.record["scores"] = score_run(done, recipe, out.name)["tasks"]

    def show() -> None:
        output.line(f"Encoder: {done.model}")
        for line in outcome(done.record):
            output.line(line)
        for task in done.record.get("scores", {}).values():
            output.line(f"{task['title']}: {task['spearman_percent']:.2f}")
        opens = "SentenceTransformer" if opens_plainly(done.model) else "mirrormask.load"
        output.line(f'Open it with {opens}("{done.model}"), or try it:')
        output.line(f'mirrormask similarity "a text" "another text" --model {shlex.quote(str(out))}')

    if world()[0] == 0:
        output.result({"out": str(out), "model": str(done.model), **done.record}, show)


def outcome(record: Mapping[str, Any]) -> list[str]:
    """Return what a run came to, in lines: what was kept, and what it does better than before."""
    result, lines = record["result"], []
    if "adaptation" in record:
        return [record["adaptation"]["reason"]]
    rows = {row["step"]: row for row in result["history"]}
    if result["best_step"] in rows:
        name = record["selection"]["by"]
        kept = measured(rows[result["best_step"]], name)
        lines.append(f"Kept the checkpoint of step {result['best_step']} of {result['steps']}: {kept}.")
        if result["best_step"] == 0:
            return ["Training did not help: what was kept is your start.", *lines]
        lines += [f"Before training: {measured(rows[0], name)}."] if 0 in rows else []
    if "partners_found" in record:
        found = record["partners_found"]
        lines.append(
            f"Of the pairs set aside, {found['after']:.1%} of the texts find their own partner first; "
            f"before training {found['before']:.1%} did."
        )
    return lines


def resume_command() -> str:
    """Return the command that goes on with what this one began."""
    arguments = [a for a in sys.argv[1:] if a != "--resume"]
    return shlex.join(["mirrormask", *arguments, "--resume"])
