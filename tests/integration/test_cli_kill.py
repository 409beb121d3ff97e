"""Real processes, killed and interrupted: what they leave goes on to the very same weights."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.forked import CLI, Forked

STEPS = 90
START = [sys.executable, "-c", CLI]

Cli = Callable[..., Any]


@pytest.fixture
def arguments(corpus_file: Path, tiny_folder: Path) -> Callable[[Path], list[str]]:
    def build(out: Path) -> list[str]:
        base = ["train", str(corpus_file), "--model", str(tiny_folder), "--out", str(out)]
        base += ["--steps", str(STEPS), "--batch-size", "8", "--learning-rate", "1e-3", "--seed", "5"]
        return [*base, "--set", "training.checkpoint_every=5", "--set", "training.evaluate_every=40"]

    return build


def steps_in(out: Path) -> int:
    """Return how many updates a run has written down."""
    metrics = out / "metrics.jsonl"
    return metrics.read_text().count('"loss"') if metrics.is_file() else 0


def stop_after(command: list[str], out: Path, step: int, how: signal.Signals) -> tuple[int, str, str]:
    """Start a run, send it a signal once it is past `step`, and return exit code, stdout and stderr."""
    process = Forked(out.parent, "mirrormask", *command)
    process.until(lambda: steps_in(out) >= step)
    process.send_signal(how)
    return process.ended()


def weights(out: Path) -> bytes:
    return (out / "model" / "model.safetensors").read_bytes()


def test_killed_twice_and_resumed_is_bit_identical(
    cli: Cli, arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for step in (17, 37):  # neither is a multiple of the checkpoints' distance
        more = ["--resume"] if step > 17 else []
        code, _, complained = stop_after([*arguments(killed), *more], killed, step, signal.SIGKILL)
        assert code == -signal.SIGKILL, complained
        assert not (killed / "model").exists()
        state = json.loads((killed / "checkpoint" / "state.json").read_text())
        assert step - 6 <= state["step"] < STEPS
    assert cli(*arguments(killed), "--resume", "--quiet").code == 0
    assert cli(*arguments(whole), "--quiet").code == 0
    assert weights(killed) == weights(whole)
    kept = json.loads((whole / "run.json").read_text())["result"]["best_step"]
    assert kept > 0, "the weights before training would be the same in any case"
    assert {path.name for path in killed.iterdir()} == {"model", "run.json", "metrics.jsonl"}, "nothing is left behind"
    histories = [json.loads((out / "run.json").read_text())["result"]["history"] for out in (whole, killed)]
    assert histories[0] == histories[1]
    losses = [
        [json.loads(line).get("loss") for line in (out / "metrics.jsonl").read_text().splitlines()]
        for out in (whole, killed)
    ]
    assert losses[0] == losses[1]


def test_ctrl_c_ends_with_130_and_the_command_to_go_on(
    cli: Cli, arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    code, said, complained = stop_after(arguments(out), out, 20, signal.SIGINT)
    assert code == 130, complained
    assert said == ""
    assert "Traceback" not in complained
    last = complained.strip().splitlines()[-1]
    done = json.loads((out / "checkpoint" / "state.json").read_text())["step"]
    assert f"Stopped after {done} of {STEPS} steps; a checkpoint is in {out / 'checkpoint'}. Go on with: " in last
    words = shlex.split(last.split("Go on with: ")[1])
    assert words == ["mirrormask", *arguments(out), "--resume"]
    assert steps_in(out) == done
    ran = cli(*words[1:])
    assert ran.code == 0
    assert f"Going on after step {done}." in ran.err
    assert steps_in(out) == STEPS


def test_a_reader_that_leaves_is_no_error() -> None:
    """`mirrormask list | head -1` ends without a traceback."""
    line = f"{shlex.join(START)} list | head -1"
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.strip() == "method"
    assert done.stderr == ""


def test_a_rate_that_ruins_the_model_leaves_what_can_go_on(
    cli: Cli, arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    out = tmp_path / "run"
    steps = ["--steps", "15"]
    ruinous, slower = [*steps, "--learning-rate", "1e20"], [*steps, "--learning-rate", "1e-4"]
    ran = cli(*arguments(out), *ruinous)
    assert ran.code == 5
    assert f"the last good weights are in {out / 'checkpoint'} (step 0). Go on with --resume" in ran.err
    from safetensors.torch import load_file

    kept = load_file(out / "checkpoint" / "weights.safetensors")
    assert all(value.isfinite().all() and value.abs().max() < 100 for value in kept.values())
    ran = cli(*arguments(out), *slower, "--resume")
    assert ran.code == 0, ran.err
    assert "From step 1 on the learning rate is 0.0001; it was 1e+20." in ran.err
    assert steps_in(out) == 15
    whole = tmp_path / "whole"
    assert cli(*arguments(whole), *slower, "--quiet").code == 0
    assert weights(out) == weights(whole)


def test_the_saved_encoder_scores_what_was_recorded(
    cli: Cli, corpus_file: Path, tiny_folder: Path, pairs_file: Path, tmp_path: Path
) -> None:
    """With an average of the weights, and the best step in the middle: the average was measured, so it is kept."""
    from mirrormask.evaluation.own.reading import load_pairs
    from mirrormask.evaluation.sts import sts_spearman
    from mirrormask.models.encoder import load

    out = tmp_path / "run"
    command = ["train", corpus_file, "--model", tiny_folder, "--out", out, "--dev", pairs_file, "--batch-size", "8"]
    command += ["--steps", "60", "--learning-rate", "1e-3", "--seed", "5", "--set", "training.schedule=constant"]
    ran = cli(*command, "--set", "training.evaluate_every=5", "--set", "training.average=0.9", "--json")
    assert ran.code == 0, ran.err
    result = ran.json["result"]
    assert 0 < result["best_step"] < 60
    assert sts_spearman(load(out / "model"), load_pairs(pairs_file)) == pytest.approx(result["best_score"], abs=1e-4)


def written(folder: Path) -> dict[Path, int]:
    """Return when each file was written last; one that vanishes meanwhile is left out."""
    found = {}
    for path in folder.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            found[path] = path.stat().st_mtime_ns
    return found


def test_a_second_run_into_the_same_folder_is_refused(
    cli: Cli, arguments: Callable[[Path], list[str]], tmp_path: Path
) -> None:
    """It names the process that holds it, touches nothing, and takes over once that one is dead."""
    out = tmp_path / "run"
    first = Forked(tmp_path, "mirrormask", *arguments(out))
    try:
        first.until(lambda: steps_in(out) >= 10)
        first.send_signal(signal.SIGSTOP)
        before: dict[Path, int] = {}
        while before != (before := written(out)):
            time.sleep(0.3)  # the signal takes a moment to reach it
        for more in ([], ["--resume"]):
            ran = cli(*arguments(out), *more)
            assert ran.code == 2
            assert f"{out} is in use. Process {first.pid} on " in ran.err
            assert f"(mirrormask train {arguments(out)[1]} " in ran.err
        assert written(out) == before
    finally:
        first.send_signal(signal.SIGKILL)
        first.ended()
    assert cli(*arguments(out), "--resume", "--quiet").code == 0
    assert {path.name for path in out.iterdir()} == {"model", "run.json", "metrics.jsonl"}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_stopped_before_the_loop_begins(how: signal.Signals, tiny_folder: Path, tmp_path: Path) -> None:
    """While it waits for text: 130 and a sentence."""
    out, pipe = tmp_path / "run", tmp_path / "pipe"
    os.mkfifo(pipe)
    held = os.open(pipe, os.O_RDWR)  # nobody writes to it, and it does not end
    command = ["train", "-", "--model", str(tiny_folder), "--out", str(out)]
    process = Forked(tmp_path, "mirrormask", *command, code=f"import sys; sys.stdin = open({str(pipe)!r}); {CLI}")
    process.until((out / "work").is_dir)
    process.send_signal(how)
    code, said, complained = process.ended()
    os.close(held)
    assert code == 130, complained
    assert said == ""
    assert complained.strip().splitlines()[-1] == "Error: Stopped."
    assert "Traceback" not in complained


def test_many_ctrl_c_end_without_a_traceback(arguments: Callable[[Path], list[str]], tmp_path: Path) -> None:
    """Whatever they hit: the step, the checkpoint, the message, the end of the process."""
    out = tmp_path / "run"
    process = subprocess.Popen([*START, *arguments(out)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        begun = time.monotonic()
        while steps_in(out) < 5 and process.poll() is None and time.monotonic() - begun < 120:
            time.sleep(0.01)
        while process.poll() is None and time.monotonic() - begun < 180:
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        complained = process.communicate(timeout=60)[1]
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130, complained
    assert "Traceback" not in complained
    assert "Stopped" in complained.strip().splitlines()[-1]
