"""Real processes killed at their file operations: the same command goes on, and ends where an unkilled one does."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

KILLS = 15
"""Of each command, evenly spread over its operations on files."""

SMALL = ("--batch-size", "8", "--steps", "6", "--learning-rate", "1e-3")
OFTEN = ("--set", "training.checkpoint_every=2", "--set", "training.evaluate_every=3")
SHORT = ("--length", "16", "--evaluate-every", "2", "--held-out", "10")
RECIPE = """
[model]
name = "{model}"
pooling = "mean"
[data]
corpus = "{corpus}"
[training]
steps = 4
batch_size = 8
precision = "fp32"
checkpoint_every = 2
[evaluation]
tasks = ["stsb"]
"""


@dataclass(frozen=True)
class Command:
    """What is run, what is said to go on with it, and what it leaves.

    Args:
        arguments: with OUT for the folder of its output.
        resume: what is added to go on.
        kept: files that must be the same, below that folder.
    """

    arguments: tuple[str, ...]
    resume: tuple[str, ...]
    kept: tuple[str, ...]


COMMANDS = {
    "train": Command(
        ("train", "good.txt", "--model", "TINY", "--out", "OUT/run", *SMALL, *OFTEN),
        ("--resume",),
        ("run/model/model.safetensors",),
    ),
    "pretrain": Command(
        ("pretrain", "good.txt", "--init", "TINY", "--out", "OUT/run", *SMALL, *SHORT),
        ("--resume",),
        ("run/model/model.safetensors",),
    ),
    "classify": Command(
        ("classify", "train", "labels.csv", "--model", "TINY", "--out", "OUT/run", "--objective", "lcl", *SMALL),
        ("--resume",),
        ("run/model/model.safetensors", "run/model/classifier.safetensors"),
    ),
    "encode": Command(("encode", "good.txt", "--model", "TINY", "--out", "OUT/v.npy"), ("--resume",), ("v.npy",)),
    "shards": Command(
        ("encode", "good.txt", "--model", "TINY", "--out", "OUT/shards"), ("--resume",), ("shards/_encoded.json",)
    ),
    "index": Command(
        ("index", "good.txt", "--model", "TINY", "--out", "OUT/index"),
        (),
        tuple(
            f"index/{name}" for name in ("index.json", "g000001/dense/0000.faiss", "g000001/words/0000/passages.npy")
        ),
    ),
    "whiten": Command(
        ("whiten", "TINY", "good.txt", "--out", "OUT/white"),
        (),
        tuple(f"white/{name}" for name in ("model.safetensors", "2_Dense/model.safetensors", "mirrormask.json")),
    ),
    "flow": Command(
        ("flow", "TINY", "good.txt", "--out", "OUT/flow"),
        (),
        tuple(f"flow/{name}" for name in ("model.safetensors", "2_Flow/model.safetensors")),
    ),
    "seeds": Command(
        ("run", "recipe.toml", "--seeds", "1,2", "--out", "OUT/runs"),
        (),
        tuple(f"runs/recipe/seed-{seed}/model/model.safetensors" for seed in (1, 2)),
    ),
}

Run = Callable[..., dict[str, int]]


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory, tiny_folder: Path, sentences: list[str]) -> Path:
    folder = tmp_path_factory.mktemp("kills")
    (folder / "good.txt").write_text("\n".join(sentences[:300]))
    rows = [f"{text},{'water' if 'boat' in text else 'land'}" for text in sentences[:120]]
    (folder / "labels.csv").write_text("\n".join(["text,label", *rows]))
    (folder / "recipe.toml").write_text(RECIPE.format(model=tiny_folder, corpus=folder / "good.txt"))
    data = folder / "data" / "mteb" / "stsbenchmark-sts" / "test.jsonl"
    data.parent.mkdir(parents=True)
    pairs = zip(sentences[:30], sentences[30:60], strict=True)
    scored = [{"sentence1": a, "sentence2": b, "score": len(set(a.split()) & set(b.split()))} for a, b in pairs]
    data.write_text("".join(json.dumps(row) + "\n" for row in scored))
    return folder


@pytest.fixture(scope="module")
def run(there: Path, tiny_folder: Path) -> Iterator[Run]:
    """Return a function that runs a command in a process of its own, killed at an operation or not."""
    server = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("killing.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert server.stdin is not None and server.stdout is not None
    stdin, stdout = server.stdin, server.stdout

    def ask(arguments: tuple[str, ...], out: Path, at: int = 0) -> dict[str, int]:
        real = [each.replace("OUT", str(out)).replace("TINY", str(tiny_folder)) for each in arguments]
        order: dict[str, Any] = {"arguments": real, "folder": str(there), "under": str(out), "at": at}
        order |= {"log": f"{out}.log", "environment": {"MIRRORMASK_DATA": str(there / "data")}}
        stdin.write(json.dumps(order) + "\n")
        stdin.flush()
        answer: dict[str, int] = json.loads(stdout.readline())
        return answer

    yield ask
    stdin.close()
    server.wait(timeout=60)
    stdout.close()


@pytest.fixture(scope="module")
def whole(there: Path, run: Run) -> Callable[[str], tuple[Path, int]]:
    """Return where the unkilled run of a command left its files, and how many operations it took."""
    made: dict[str, tuple[Path, int]] = {}

    def find(name: str) -> tuple[Path, int]:
        if name not in made:
            out = there / f"{name}-whole"
            out.mkdir()
            ended = run(COMMANDS[name].arguments, out)
            assert ended["code"] == 0, Path(f"{out}.log").read_text()
            made[name] = (out, ended["count"])
        return made[name]

    return find


def names(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in out.rglob("*")}


@pytest.mark.parametrize("number", range(KILLS))
@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_run_is_neither_lost_nor_different(
    there: Path, run: Run, whole: Callable[[str], tuple[Path, int]], name: str, number: int
) -> None:
    command = COMMANDS[name]
    expected, operations = whole(name)
    assert operations >= KILLS
    at = 1 + (operations - 1) * number // (KILLS - 1)
    out = there / f"{name}-{number}"
    out.mkdir()
    assert run(command.arguments, out, at)["code"] == -signal.SIGKILL
    ended = run((*command.arguments, *command.resume), out)
    assert ended["code"] == 0, f"killed at {at} of {operations}: " + Path(f"{out}.log").read_text()
    for kept in command.kept:
        digests = [hashlib.sha256((folder / kept).read_bytes()).hexdigest() for folder in (expected, out)]
        assert digests[0] == digests[1], f"{kept} differs after a kill at {at} of {operations}"
    assert names(out) ^ names(expected) == set(), f"left over or missing after a kill at {at} of {operations}"
