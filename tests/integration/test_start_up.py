"""What needs no model starts without the libraries that take seconds to import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SLOW = ["torch", "transformers", "sentence_transformers", "accelerate", "sklearn", "scipy", "datasets"]
VERBS = [
    "quickstart",
    "train",
    "pretrain",
    "run",
    "compare",
    "study",
    "word-vectors",
    "back-translate",
    "evaluate",
    "encode",
    "index",
    "search",
    "serve",
    "classify",
    "similarity",
    "probe",
    "attack",
    "train-victim",
    "info",
    "list",
]
PROGRAM = f"""
import json, sys
from mirrormask.cli import app
from mirrormask.cli.output import run_safely
codes = []
for arguments in json.loads(sys.argv[1]):
    sys.argv = ["mirrormask", *arguments]
    codes.append(run_safely(app))
sys.stderr.write("\\n" + json.dumps([codes, [name for name in {SLOW} if name in sys.modules]]))
"""


def imported(*commands: list[str], cwd: Path) -> tuple[list[int], list[str], str]:
    """Return the exit codes of commands run in one fresh process, which slow libraries it has, and what it printed."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(commands)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "COLUMNS": "100"},
        check=True,
    )
    *said, last = done.stderr.splitlines()
    codes, slow = json.loads(last)
    return codes, slow, done.stdout + "\n".join(said)


def test_help_of_every_verb_is_quick(tmp_path: Path) -> None:
    codes, slow, text = imported(["--help"], *([verb, "--help"] for verb in VERBS), cwd=tmp_path)
    assert codes == [0] * (len(VERBS) + 1) and slow == []
    assert all(f"mirrormask {verb} " in text for verb in VERBS)


def test_the_list_is_quick_and_right(tmp_path: Path) -> None:
    codes, slow, text = imported(["list", "--json"], cwd=tmp_path)
    assert codes == [0] and slow == []
    from mirrormask.runs.catalogue import catalogue

    def told(part: Any) -> dict[str, Any]:
        return {"name": part.name, "summary": part.summary, "paper": part.paper, "parameters": part.parameters}

    assert json.loads(text) == {kind: [told(part) for part in parts] for kind, parts in catalogue().items()}


def test_info_is_quick(tmp_path: Path) -> None:
    codes, slow, text = imported(["info"], ["info", "mini-sentence"], cwd=tmp_path)
    assert codes == [0, 0] and slow == []
    assert "Next: mirrormask train my.txt --model mini --out my-encoder" in text
    assert 'Next: mirrormask similarity "a cat sat" "a dog lay down" --model mini-sentence' in text


def test_similarity_by_a_model_of_our_own_is_quick(tmp_path: Path) -> None:
    codes, slow, text = imported(["similarity", "a cat sat", "a cat was sitting"], cwd=tmp_path)
    assert codes == [0] and slow == []
    assert 0.5 < float(text) < 1


@pytest.mark.parametrize(
    "command",
    [
        ["train", "revews.txt", "--out", "encoder"],
        ["train", "reviews.txt", "revews.txt", "--out", "encoder"],
        ["pretrain", "revews.txt", "--out", "lm"],
        ["encode", "revews.txt", "--out", "vectors.npy"],
        ["index", "revews.txt", "--out", "my-index"],
        ["evaluate", "mini", "--data", "revews.txt"],
    ],
)
def test_a_mistyped_file_is_said_at_once(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / "reviews.txt").write_text("a text\nand one more\n", encoding="utf-8")
    codes, slow, text = imported(command, cwd=tmp_path)
    assert codes == [3] and slow == []
    assert "There is no file revews.txt. Did you mean 'reviews.txt'?" in text
