"""Two processes with half the batch each give the gradient of one process with the whole."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

SCRIPT = Path(__file__).with_name("joint_gradient.py")


def launch(processes: int, *arguments: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
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
