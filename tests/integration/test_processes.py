"""Two processes with half the batch each give the gradient of one process with the whole, and stop together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

SCRIPT = Path(__file__).with_name("joint_gradient.py")


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def launch(processes: int, *arguments: str) -> None:
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "accelerate.commands.launch",
        "--multi_gpu"
        if processes > 1
        else "--cpu",  # how accelerate starts several processes where there is no GPU too
        "--num_machines",
        "1",
        "--mixed_precision",
        "no",
    ]
    command += ["--num_processes", str(processes), "--main_process_port", str(port), "--dynamo_backend", "no"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [*command, str(SCRIPT), *arguments], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(("columns", "rows", "directions"), [(1, 9, "both"), (2, 9, "one"), (3, 7, "both")])
def test_two_processes_give_the_joint_gradient(
    columns: int, rows: int, directions: str, tiny_folder: Path, sentences: list[str], tmp_path: Path
) -> None:
    """With an uneven last batch (7 and 9 rows over 2 processes), with hard negatives (3 columns), and under attacks."""
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(sentences[: columns * rows]), encoding="utf-8")
    for processes in (1, 2):
        launch(
            processes,
            str(tiny_folder),
            str(texts),
            str(columns),
            directions,
            str(tmp_path / f"{processes}.safetensors"),
        )
    one, two = (load_file(tmp_path / f"{n}.safetensors") for n in (1, 2))
    assert (one.pop("processes"), two.pop("processes")) == (1, 2)
    assert one.keys() == two.keys()
    assert len(one) > 20
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=1e-5, rtol=1e-3, msg=name)


def start(rank: int, port: int, *arguments: str) -> subprocess.Popen[str]:
    """Start one of two processes of a run, without a launcher that would pass signals on."""
    places = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    command = [sys.executable, "-c", "from mirrormask.cli import main; main()", *arguments]
    return subprocess.Popen(command, env={**os.environ, **places, **meeting}, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("rank", [0, 1])
def test_all_stop_when_one_is_asked_to(rank: int, tiny_folder: Path, corpus_file: Path, tmp_path: Path) -> None:
    """Each would wait for the other forever otherwise; what they leave goes on."""
    out = tmp_path / "run"
    command = ["train", str(corpus_file), "--model", str(tiny_folder), "--out", str(out), "--batch-size", "8"]
    command += ["--steps", "4000", "--set", "training.evaluate_every=4000"]
    port = free_port()
    both = [start(each, port, *command) for each in (0, 1)]
    try:
        metrics, begun = out / "metrics.jsonl", time.monotonic()
        while not (metrics.is_file() and metrics.read_text().count('"loss"') > 5) and time.monotonic() - begun < 120:
            assert [process.poll() for process in both] == [None, None]
            time.sleep(0.05)
        both[rank].send_signal(signal.SIGTERM)
        said = [process.communicate(timeout=60)[1] for process in both]
    finally:
        for process in both:
            process.kill()
            process.wait()
    assert [process.returncode for process in both] == [130, 130], said
    step = json.loads((out / "checkpoint" / "state.json").read_text())["step"]
    assert 5 < step < 4000
    written = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [row["step"] for row in written if "loss" in row] == list(range(1, step + 1)), "by one of the two"
    for text in said:
        assert f"Stopped after {step} of 4000 steps" in text
        assert "Traceback" not in text
