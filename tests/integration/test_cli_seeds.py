"""`run --seeds`, `compare` and `study` through the command line."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.core.locking import locked
from mirrormask.data.text import sources
from mirrormask.training.loop import Interrupted

Cli = Callable[..., Any]

RECIPE = """
[model]
name = "{model}"
pooling = "mean"
[data]
corpus = "{corpus}"
[method]
name = "composition"
{method}
[training]
steps = 2
batch_size = 8
precision = "fp32"
[evaluation]
tasks = ["stsb"]
"""


@pytest.fixture
def recipes(tmp_path: Path, tiny_folder: Path, corpus_file: Path, sentences: list[str], monkeypatch: Any) -> Path:
    root = tmp_path / "data"
    monkeypatch.setenv("MIRRORMASK_DATA", str(root))
    monkeypatch.setattr(sources, "_silent_until", [float("inf")])
    path = root / "mteb" / "stsbenchmark-sts" / "test.jsonl"
    path.parent.mkdir(parents=True)
    rows = [
        {"sentence1": a, "sentence2": b, "score": float(len(set(a.split()) & set(b.split())))}
        for a, b in zip(sentences[:30], sentences[30:60], strict=True)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for name, method in (("plain", ""), ("noise", 'negatives = "gaussian"')):
        (tmp_path / f"{name}.toml").write_text(RECIPE.format(model=tiny_folder, corpus=corpus_file, method=method))
    return tmp_path


def test_from_recipes_to_a_verdict(cli: Cli, recipes: Path) -> None:
    out = recipes / "runs"
    both = (recipes / "plain.toml", recipes / "noise.toml")
    ran = cli("run", *both, "--seeds", "1,2", "--out", out, "--no-keep-models", "steps=3")
    assert ran.code == 0, ran.err
    assert "2 recipes × 2 seeds: 4 runs" in ran.err
    assert "4 runs made, 0 found, 0 failed." in ran.out
    assert f"mirrormask compare {out}" in ran.out
    assert not (out / "plain" / "seed-1" / "model").exists()
    again = cli("run", *both, "--seeds", "1,2", "--out", out, "--no-keep-models", "steps=3", "--json")
    assert [run["status"] for run in again.json["runs"]] == ["found"] * 4
    for form, sign in (("terminal", "verdict"), ("markdown", "|---|"), ("latex", "\\toprule")):
        shown = cli("compare", out / "plain", out / "noise", "--resamples", "20", "--format", form)
        assert shown.code == 0, shown.err
        assert sign in shown.out
        assert "cannot show p < 0.05" in shown.out.replace("\n", " ")
    figures = cli(
        "compare", out, "--baseline", "plain", "--figures", recipes / "figures", "--resamples", "20", "--json"
    )
    assert figures.json["rows"][1]["name"] == "noise"
    assert (recipes / "figures" / "seeds.png").is_file()


def test_a_single_run_is_scored_too(cli: Cli, recipes: Path) -> None:
    ran = cli("run", recipes / "plain.toml", "--out", recipes / "one")
    assert ran.code == 0, ran.err
    assert "STS-B: " in ran.out
    assert (recipes / "one" / "scores.json").is_file()
    assert cli("compare", recipes / "one").code == 0


def test_the_recipe_named_first_is_the_baseline(cli: Cli, recipes: Path) -> None:
    out = recipes / "runs"
    both = (recipes / "plain.toml", recipes / "noise.toml")
    assert cli("run", *both, "--seeds", "1", "--out", out, "--no-keep-models", "--quiet").code == 0
    assert cli("compare", out, "--resamples", "0", "--json").json["baseline"] == "plain", "and not the first by name"
    chosen = cli("compare", out, "--rows", "noise", "--rows", "plain", "--resamples", "0", "--json").json
    assert [row["name"] for row in chosen["rows"]] == ["noise", "plain"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "nothing"], "There is no folder nothing"),
        (["compare", "."], "holds no run with scores"),
        (["study", "nothing"], "There is no folder nothing"),
        (["study", "nothing.json"], "There is no record nothing.json"),
    ],
)
def test_runs_that_are_not_there_are_missing_data(
    cli: Cli, recipes: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipes)
    ran = cli(*arguments)
    assert ran.code == 3
    assert said in ran.err.replace("\n", " ")


def test_a_study_is_written(cli: Cli, recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(recipes)
    out = recipes / "runs"
    assert cli("run", recipes / "plain.toml", "--seeds", "1", "--out", out, "--quiet").code == 0
    text = f'title = "T"\nbaseline = "plain"\nrecipes = "{recipes}"\n[[tables]]\nlabel = "Table 1"\nrows = ["noise"]\n'
    (recipes / "page.toml").write_text(text)
    ran = cli("study", recipes / "page.toml", out)
    assert ran.code == 0, ran.err
    assert "Missing rows: noise" in ran.out
    assert "**Missing:** noise." in (recipes / "page.md").read_text()
    for _ in range(2):
        plain = cli("study", out)
        assert plain.code == 0, plain.err
    assert "# Runs over seeds" in (recipes / "study.md").read_text()
    from_record = cli("study", recipes / "page.toml", recipes / "page.json", "--out", recipes / "again")
    assert from_record.code == 0, from_record.err
    pages = [(folder / "page.md").read_text().split("-->")[1] for folder in (recipes, recipes / "again")]
    assert pages[0] == pages[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "plain.toml", "--seeds", "1,x"], "Seeds are whole numbers with commas between them"),
        (["run", "plain.toml", "--seeds", "1,1"], "Seeds must be different whole numbers"),
        (["run", "plain.toml", "--seeds", "1", "--vary", "data"], "must be one of order, dropout, initialization"),
        (["run", "plain.toml", "--seeds", "1", "--jobs", "0"], "The 'jobs' of a run over seeds must be at least 1"),
        (["run", "steps=1", "--seeds", "1"], "Name at least one recipe"),
        (["run", "plain.toml", "plain.toml", "--seeds", "1"], "Two recipes are called 'plain'"),
        (["run", "plain.toml", "--seeds", "1", "evaluation.tasks=['stsx']"], "[evaluation] has no task 'stsx'"),
        (["compare", ".", "--format", "html"], "must be one of terminal, markdown, latex"),
        (["study", "page.toml", "."], "There is no study page.toml"),
        (["compare", ".", "--resamples", "-1"], "The 'resamples' of a comparison must be at least 0"),
    ],
)
def test_bad_input_is_one_sentence(
    cli: Cli, recipes: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(recipes)
    ran = cli(*arguments)
    assert ran.code == 2
    assert said in ran.err.replace("\n", " ")
    assert "Traceback" not in ran.err


def test_an_interrupted_grid_says_how_to_go_on(cli: Cli, recipes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: Any, **__: Any) -> Any:
        raise Interrupted("Stopped after 1 of 2 steps.")

    monkeypatch.setattr("mirrormask.study.grid.run_grid", stop)
    ran = cli("run", recipes / "plain.toml", "--seeds", "1,2", "--out", recipes / "runs")
    assert ran.code == 130
    assert "0 of 2 runs done; the same command goes on." in " ".join(ran.err.split())


def test_a_failed_run_sets_the_exit_code(cli: Cli, recipes: Path) -> None:
    ran = cli("run", recipes / "plain.toml", "--seeds", "1", "--out", recipes / "runs", "max_length=100000")
    assert ran.code == 2
    assert "1 of 1 run failed" in ran.err.replace("\n", " ")
    assert "Compare them" not in ran.out
    as_json = cli(
        "run", recipes / "plain.toml", "--seeds", "1", "--out", recipes / "runs", "max_length=100000", "--json"
    )
    assert as_json.code == 2
    assert as_json.json["runs"][0]["status"] == "failed"


def test_workers_end_with_the_process_that_started_them(recipes: Path) -> None:
    """`kill -9` on the parent of `run --jobs 2`: nobody goes on training, and the same command can go on."""
    import psutil  # type: ignore[import-untyped]

    out = recipes / "runs"
    command = [sys.executable, "-c", "from mirrormask.cli import main; main()", "run", str(recipes / "plain.toml")]
    command += ["--seeds", "1,2", "--jobs", "2", "--out", str(out), "steps=100000"]
    parent = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    workers: list[psutil.Process] = []
    try:
        begun = time.monotonic()
        metrics = [out / "plain" / f"seed-{seed}" / "metrics.jsonl" for seed in (1, 2)]
        while not all(file.is_file() and file.stat().st_size for file in metrics) and time.monotonic() - begun < 240:
            assert parent.poll() is None
            time.sleep(0.1)
        workers = psutil.Process(parent.pid).children(recursive=True)
        assert len(workers) >= 2
        parent.kill()
        parent.wait()
        _, alive = psutil.wait_procs(workers, timeout=60)
        assert alive == []
    finally:
        for worker in workers:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()
        parent.kill()
        parent.communicate()
    with locked(out), locked(out / "plain" / "seed-1"):
        pass  # nobody holds them
