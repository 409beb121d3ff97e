"""What `train` and `run` share: perform a recipe, show it, and say how to go on after an interruption."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from mirrormask.cli.output import Output
from mirrormask.cli.progress import reporter_for
from mirrormask.runs.recipe import Recipe


def perform(recipe: Recipe, out: Path, *, resume: bool, output: Output) -> None:
    """Run the recipe and print its result."""
    from mirrormask.models.model_files import opens_plainly
    from mirrormask.runs.runner import run_recipe
    from mirrormask.training.gather import world
    from mirrormask.training.loop import Interrupted

    reporter = reporter_for(output)
    try:
        done = run_recipe(recipe, out, resume=resume, reporter=reporter)
    except Interrupted as stop:
        raise Interrupted(f"{stop} Go on with: {resume_command()}") from None
    if recipe.evaluation.tasks and world()[0] == 0:
        from mirrormask.study.grid import score_run

        done.record["scores"] = score_run(done, recipe, out.name)["tasks"]
    result = done.record["result"]

    def show() -> None:
        output.line(f"Encoder: {done.model}")
        if result["best_score"] is not None:
            output.line(
                f"Kept the checkpoint of step {result['best_step']} of {result['steps']} "
                f"({done.record['selection']['by']} {result['best_score']:.3f})."
            )
        for task in done.record.get("scores", {}).values():
            output.line(f"{task['title']}: {task['spearman_percent']:.2f}")
        opens = "SentenceTransformer" if opens_plainly(done.model) else "mirrormask.load"
        output.line(f'Open it with {opens}("{done.model}"), or measure it: mirrormask evaluate {shlex.quote(str(out))}')

    if world()[0] == 0:
        output.result({"out": str(out), "model": str(done.model), **done.record}, show)


def resume_command() -> str:
    """Return the command that goes on with what this one began."""
    arguments = [a for a in sys.argv[1:] if a != "--resume"]
    return shlex.join(["mirrormask", *arguments, "--resume"])
