"""`mirrormask multitask`: one encoder that learns several tasks with labels, and answers all of them."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from mirrormask.cli.output import Json, Output, Quiet

app = typer.Typer(
    name="multitask",
    help="Learn several tasks with labels together: classes, paraphrases, similarities.\n\n"
    "[bold]mirrormask multitask train tasks.toml --out my-tasks[/bold]\n\n"
    "[bold]mirrormask multitask predict tasks.toml --model my-tasks --out answers[/bold]",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

TaskFile = typer.Argument(..., help="A TOML file with a table [tasks.NAME] for every task.")
Named = typer.Option([], "--task", "-t", help="Only this task; may be repeated.", show_default="all")


@app.command("train")
def train(
    tasks: Path = TaskFile,
    out: Path = typer.Option(..., "--out", "-o", help="Folder of the run; encoder and heads will be in OUT/model."),
    task: list[str] = Named,
    model: str = typer.Option("", "--model", "-m", help="Where to start.", show_default="as TASKS says, or mini"),
    steps: int | None = typer.Option(None, "--steps", help="Updates.", show_default="as TASKS says, or 5000"),
    seed: int | None = typer.Option(None, "--seed", help="Same seed, same model.", show_default="as TASKS says, or 42"),
    resume: bool = typer.Option(False, "--resume", help="Go on from the last checkpoint in OUT."),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Train an encoder with a head for every task; each epoch says how good it is at each.

    [bold]mirrormask multitask train tasks.toml --out my-tasks[/bold]
    """
    import dataclasses

    from mirrormask.cli.progress import measured, reporter_for
    from mirrormask.cli.running import resume_command
    from mirrormask.heads.task_specs import read_plan
    from mirrormask.runs.multitask import train_tasks
    from mirrormask.training.gather import world
    from mirrormask.training.loop import Interrupted

    output = Output(as_json=as_json, quiet=quiet)
    plan = read_plan(tasks).only(task)
    training = dict(plan.training) if steps is None else {**plan.training, "steps": steps}
    plan = dataclasses.replace(
        plan, model=model or plan.model, training=training, seed=plan.seed if seed is None else seed
    )
    try:
        done = train_tasks(plan, out, resume=resume, reporter=reporter_for(output))
    except Interrupted as stop:
        raise Interrupted(f"{stop} Go on with: {resume_command()}") from None

    def show() -> None:
        output.line(f"Encoder and heads: {done.model}")
        result, rows = done.record["result"], {row["step"]: row for row in done.record["result"]["history"]}
        if result["best_step"] in rows:
            kept = measured(rows[result["best_step"]], "average")
            output.line(f"Kept the checkpoint of step {result['best_step']} of {result['steps']}: {kept}.")
        output.line("Answer other texts:")
        given = f"{shlex.quote(str(tasks))} --model {shlex.quote(str(out))}"
        output.line(f"mirrormask multitask predict {given} --task {next(iter(plan.tasks))} --data FILE --out answers")

    if world()[0] == 0:
        output.result({"out": str(out), "model": str(done.model), **done.record}, show)


@app.command("predict")
def predict(
    tasks: Path = TaskFile,
    model: str = typer.Option(..., "--model", "-m", help="The folder that `multitask train` left."),
    out: Path = typer.Option(..., "--out", "-o", help="A folder: TASK.csv for each task."),
    task: list[str] = Named,
    data: str = typer.Option(
        "", "--data", "-d", help="Texts of the one --task.", show_default="the dev files that TASKS names"
    ),
    as_json: bool = Json,
    quiet: bool = Quiet,
) -> None:
    """Write what the heads say about texts: a class, 1 or 0, or a similarity.

    [bold]mirrormask multitask predict tasks.toml --model my-tasks --task sentiment --data new.csv --out answers[/bold]
    """
    import csv

    from mirrormask.core.errors import MirrormaskError
    from mirrormask.core.overwriting import spare_inputs
    from mirrormask.core.storage import atomic_file, check_writable
    from mirrormask.heads.task_specs import read_plan

    output = Output(as_json=as_json, quiet=quiet)
    plan = read_plan(tasks).only(task)
    if data and len(plan.tasks) > 1:
        raise MirrormaskError("--data is for one task. Name it with --task.")
    sources = {name: data or (each.dev if isinstance(each.dev, str) else "") for name, each in plan.tasks.items()}
    missing = [name for name, source in sources.items() if not source]
    if missing:
        raise MirrormaskError(
            f"The task {missing[0]} names no file to predict: its dev is a share of its training rows. Give "
            f"--task {missing[0]} --data FILE."
        )
    check_writable(out)
    files = {name: out / f"{name}.csv" for name in sources}
    spare_inputs([tasks, *sources.values()], replaced=list(files.values()))
    from mirrormask.heads.multitask_model import Multitask
    from mirrormask.runs.multitask import predict_task

    loaded = Multitask.load(model)
    counts = {}
    for name, source in sources.items():
        rows, answers = predict_task(loaded, name, source, columns=plan.tasks[name].columns)
        with atomic_file(files[name]) as stream:
            writer = csv.writer(stream, lineterminator="\n")
            writer.writerow([*rows[0], "prediction"])
            writer.writerows([*row.values(), answer] for row, answer in zip(rows, answers, strict=True))
        counts[name] = len(rows)

    def show() -> None:
        for name, file in files.items():
            output.line(f"{name}: {counts[name]:,} rows in {file}")

    output.result({"model": model, "files": {n: str(f) for n, f in files.items()}, "rows": counts}, show)
