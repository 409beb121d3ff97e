"""`mirrormask run`: a recipe with changes, or several recipes over several seeds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from mirrormask.cli.output import Json, Output, Quiet

if TYPE_CHECKING:
    from mirrormask.study.grid import Outcome


def run(
    what: list[str] = typer.Argument(
        ..., metavar="RECIPE... [KEY=VALUE]...", help="Recipes in TOML, then changes: training.steps=100 seed=7"
    ),
    out: Path = typer.Option(
        None, "--out", "-o", help="Folder of the run, or of all runs.", show_default="runs/NAME, or runs"
    ),
    seeds: str = typer.Option("", "--seeds", help="Run every recipe with each of these: 19984,5838,16822"),
    vary: str = typer.Option(
        "order,dropout,initialization", "--vary", help="What the seeds decide; the rest stays at the recipe's own."
    ),
    jobs: int = typer.Option(1, "--jobs", "-j", help="Runs side by side; they share the GPU where there is one."),
    keep_models: bool = typer.Option(True, help="Keep the encoders of runs over seeds after they were measured."),
    resume: bool = typer.Option(
        False, "--resume", help="Go on from the last checkpoint in OUT. Runs over seeds always do."
    ),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Run a recipe, or recipes over seeds, and measure what comes out.

    A recipe is a TOML file that names model, text, method and what to measure; the repository's are in recipes/.
    Any line of it can be changed: [bold]training.steps=100[/bold].

    One run: [bold]mirrormask run recipes/simcse-unsup-mini.toml seed=7 --out runs/simcse-7[/bold]

    Is one recipe really better? [bold]mirrormask run a.toml b.toml --seeds 1,2,3,4,5,6 --out runs/ab[/bold],
    then [bold]mirrormask compare runs/ab[/bold]
    """
    from mirrormask.cli.running import perform
    from mirrormask.runs.folder import spare_read
    from mirrormask.runs.recipe import read_recipe

    output = Output(as_json=as_json, quiet=quiet)
    files = [each for each in what if "=" not in each or Path(each).is_file()]
    changes = [each for each in what if each not in files]
    if len(files) == 1 and not seeds:
        recipe = read_recipe(files[0], changes)
        if not recipe.evaluation.untrained:
            folder = out or Path("runs") / Path(files[0]).stem
            spare_read(folder, files[0])
            perform(recipe, folder, resume=resume, output=output)
            return
    _over_seeds(files, changes, out or Path("runs"), seeds, vary, jobs, keep_models, output)


def _over_seeds(
    files: Sequence[str],
    changes: Sequence[str],
    out: Path,
    seeds: str,
    vary: str,
    jobs: int,
    keep_models: bool,
    output: Output,
) -> None:
    from mirrormask.cli.progress import reporter_for
    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import check_writable
    from mirrormask.core.wording import counted
    from mirrormask.runs.recipe import read_recipe
    from mirrormask.study.grid import TEXT, own_seed, plan_runs, run_grid
    from mirrormask.training.loop import Interrupted

    if not files:
        raise MirrormaskError("Name at least one recipe, such as recipes/simcse-unsup-mini.toml. Got only changes.")
    recipes = {}
    for file in files:
        name = Path(file).stem
        if name in recipes:
            raise MirrormaskError(f"Two recipes are called {name!r}, and runs are kept by that name. Rename one.")
        recipes[name] = read_recipe(file, changes)
    numbers = _numbers(seeds) if seeds else [own_seed(next(iter(recipes.values())))]
    parts = [part.strip() for part in vary.split(",") if part.strip()]
    planned = plan_runs(recipes, numbers, out, vary=parts, keep_models=keep_models)
    check_writable(out)
    corpora = [path for recipe in recipes.values() for path in recipe.data.corpus]
    spare_inputs([*files, *corpora], replaced=[out / TEXT, *(each.folder for each in planned)])
    planned_runs = counted(len(planned), "run")
    output.say(f"{counted(len(recipes), 'recipe')} × {counted(len(numbers), 'seed')}: {planned_runs} in {out}.")
    reporter = reporter_for(output) if jobs == 1 else None
    ended: list[Outcome] = []
    try:
        for outcome in run_grid(planned, jobs=jobs, reporter=reporter, prepared=output.say):
            ended.append(outcome)
            output.say(f"[{len(ended)}/{len(planned)}] {_line(outcome)}")
    except Interrupted as stop:
        raise Interrupted(f"{stop} {len(ended)} of {planned_runs} done; the same command goes on.") from None

    failed = [outcome for outcome in ended if outcome.status == "failed"]

    def show() -> None:
        counts = {status: sum(o.status == status for o in ended) for status in ("done", "found", "failed")}
        output.line(f"{counted(counts['done'], 'run')} made, {counts['found']} found, {counts['failed']} failed.")
        if len(failed) < len(ended):
            output.line(f"Compare them: mirrormask compare {shlex.quote(str(out))}")

    output.result({"out": str(out), "runs": [_record(outcome) for outcome in ended]}, show)
    if failed and output.as_json:
        raise typer.Exit(failed[0].exit_code)
    if failed:
        first = failed[0]
        error = MirrormaskError(
            f"{len(failed)} of {planned_runs} failed; the first was {first.folder}: {first.error} "
            "The same command makes what is missing."
        )
        error.exit_code = first.exit_code
        raise error


def _numbers(seeds: str) -> list[int]:
    from mirrormask.core.errors import MirrormaskError

    try:
        return [int(part) for part in seeds.split(",") if part.strip()]
    except ValueError:
        raise MirrormaskError(
            f"Seeds are whole numbers with commas between them, such as 1,2,3. Got {seeds!r}."
        ) from None


def _line(outcome: Outcome) -> str:
    what = f"{outcome.name}, seed {outcome.seed}: "
    if outcome.status == "failed":
        return f"{what}failed. {outcome.error}"
    tasks = outcome.scores["tasks"]
    scores = ", ".join(f"{task['title']} {task['spearman_percent']:.1f}" for task in tasks.values())
    kept = "; training did not help, it kept its start" if outcome.scores.get("best_step") == 0 else ""
    return f"{what}{scores} ({'was there' if outcome.status == 'found' else f'{outcome.seconds:.0f} s'}){kept}"


def _record(outcome: Outcome) -> dict[str, Any]:
    scores = {name: task["spearman_percent"] for name, task in outcome.scores.get("tasks", {}).items()}
    return {
        "name": outcome.name,
        "seed": outcome.seed,
        "folder": str(outcome.folder),
        "status": outcome.status,
        "error": outcome.error or None,
        "spearman_percent": scores,
    }
