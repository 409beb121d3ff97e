"""Two processes with half the batch each give the gradient of one process with the whole, and stop together."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tests.integration.forked import Forked

SCRIPT = Path(__file__).with_name("joint_gradient.py")
HOME = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


CASES = [(1, 9, "both"), (2, 9, "one"), (3, 7, "both")]


@pytest.fixture(scope="module")
def gradients(made_once: Callable[..., Path], tiny_folder: Path, sentences: list[str]) -> Path:
    """A folder with the gradients of every case, of one process and of two that `accelerate launch` started."""

    def make(folder: Path) -> None:
        folder.mkdir()
        by_number: dict[int, list[str]] = {1: [], 2: []}
        for columns, rows, directions in CASES:
            texts = folder / f"{columns}.txt"
            texts.write_text("\n".join(sentences[: columns * rows]), encoding="utf-8")
            for processes, arguments in by_number.items():
                out = folder / f"{columns}-{processes}.safetensors"
                arguments += [str(texts), str(columns), directions, str(out)]
        alone = Forked(folder, str(SCRIPT), str(tiny_folder), *by_number[1], code=SCRIPT.read_text(), environment=HOME)
        command = [sys.executable, "-m", "accelerate.commands.launch", "--num_machines", "1", "--mixed_precision", "no"]
        command += ["--multi_gpu", "--num_processes", "2"]  # how it starts several where there is no GPU too
        command += ["--main_process_port", str(free_port()), "--dynamo_backend", "no", str(SCRIPT), str(tiny_folder)]
        launched = subprocess.run(
            [*command, *by_number[2]], capture_output=True, text=True, env={**os.environ, **HOME}, timeout=300
        )
        assert launched.returncode == 0, launched.stderr[-3000:]
        code, _, complained = alone.ended(timeout=300)
        assert code == 0, complained[-3000:]

    return made_once("gradients", make)


@pytest.mark.parametrize("columns", [columns for columns, _, _ in CASES])
def test_two_processes_give_the_joint_gradient(columns: int, gradients: Path) -> None:
    """With an uneven last batch (7 and 9 rows over 2 processes), with hard negatives (3 columns), and under attacks."""
    one, two = (load_file(gradients / f"{columns}-{processes}.safetensors") for processes in (1, 2))
    assert (one.pop("processes"), two.pop("processes")) == (1, 2)
    assert one.keys() == two.keys()
    assert len(one) > 20
    for name in one:
        torch.testing.assert_close(two[name], one[name], atol=1e-5, rtol=1e-3, msg=name)


def start(folder: Path, rank: int, port: int, *arguments: str) -> Forked:
    """Start one of two processes of a run, without a launcher that would pass signals on."""
    places = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    return Forked(folder, "mirrormask", *arguments, environment={**places, **meeting, **HOME})


@pytest.mark.parametrize("rank", [0, 1])
def test_all_stop_when_one_is_asked_to(rank: int, tiny_folder: Path, corpus_file: Path, tmp_path: Path) -> None:
    """Each would wait for the other forever otherwise; what they leave goes on."""
    out = tmp_path / "run"
    command = ["train", str(corpus_file), "--model", str(tiny_folder), "--out", str(out), "--batch-size", "8"]
    command += ["--steps", "4000", "--set", "training.evaluate_every=4000"]
    port = free_port()
    both = [start(tmp_path, each, port, *command) for each in (0, 1)]
    metrics = out / "metrics.jsonl"
    both[0].until(lambda: metrics.is_file() and metrics.read_text().count('"loss"') > 5)
    both[rank].send_signal(signal.SIGTERM)
    ends = [process.ended() for process in both]
    said = [complained for _, _, complained in ends]
    assert [code for code, _, _ in ends] == [130, 130], said
    step = json.loads((out / "checkpoint" / "state.json").read_text())["step"]
    assert 5 < step < 4000
    written = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [row["step"] for row in written if "loss" in row] == list(range(1, step + 1)), "by one of the two"
    for text in said:
        assert f"Stopped after {step} of 4000 steps" in text
        assert "Traceback" not in text
