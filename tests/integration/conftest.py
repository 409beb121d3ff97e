"""The command line, run in this process: starting another one costs seconds."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ran:
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Return stdout as strict JSON, where NaN and Infinity are no numbers."""
        return json.loads(self.out, parse_constant=_refuse)


def _refuse(text: str) -> None:
    raise ValueError(f"{text} is not JSON")


def mirrormask(*arguments: str | Path) -> Ran:
    """Run `mirrormask …` as its console script does, with output and exit code caught; a traceback is an error."""
    from mirrormask.cli import main

    out, err = io.StringIO(), io.StringIO()
    before = sys.argv
    handlers = {name: signal.getsignal(name) for name in (signal.SIGINT, signal.SIGTERM)}
    sys.argv = ["mirrormask", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
        for name, handler in handlers.items():
            signal.signal(name, handler)  # a command that was stopped is deaf to what comes after
    assert isinstance(stopped.value.code, int)
    return Ran(stopped.value.code, out.getvalue(), err.getvalue())


@pytest.fixture(scope="session")
def cli() -> Callable[..., Ran]:
    """Return the command line as a function."""
    return mirrormask


@pytest.fixture(scope="session")
def corpus_file(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(sentences), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def trained(
    tmp_path_factory: pytest.TempPathFactory, cli: Callable[..., Ran], tiny_folder: Path, corpus_file: Path
) -> Path:
    """A finished run of `mirrormask train`."""
    out = tmp_path_factory.mktemp("runs") / "encoder"
    ran = cli("train", corpus_file, "--out", out, "--model", tiny_folder, "--steps", "6", "--batch-size", "8", "--json")
    assert ran.code == 0, ran
    return out


@pytest.fixture(scope="session")
def pairs_file(tmp_path_factory: pytest.TempPathFactory, sentences: list[str]) -> Path:
    """Scored pairs: the score is how many words two sentences share."""
    rows = ["sentence1,sentence2,score"]
    for left, right in itertools.pairwise(sentences[:61]):
        shared = len(set(left.split()) & set(right.split()))
        rows.append(f"{left},{right},{shared}")
    path = tmp_path_factory.mktemp("pairs") / "pairs.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path
