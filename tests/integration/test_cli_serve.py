"""What `mirrormask serve` says before it serves; the server itself is run by `tests/benchmarks/test_serve_load.py`."""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirrormask.search.index import Index

Cli = Callable[..., Any]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, sentences: list[str], tiny_folder: Path) -> Path:
    out = tmp_path_factory.mktemp("served") / "my-index"
    Index.build(sentences[:12], out, model=str(tiny_folder))
    return out


def test_a_port_in_use_is_said_at_once(cli: Cli, index: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = cli("serve", index, "--port", str(port))
    assert ran.code == 2 and ran.out == ""
    assert ran.err.strip() == (
        f"Error: The port {port} of 127.0.0.1 is in use. Choose another with --port, or --port 0 for any that is free."
    )


def test_a_missing_extra_has_its_pip_line(cli: Cli, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = cli("serve", index)
    assert ran.code == 2
    assert "needs the package 'uvicorn'. Install it with: pip install \"mirrormask[serve]\"" in ran.err


def test_an_index_of_another_model_is_refused(cli: Cli, index: Path) -> None:
    ran = cli("serve", index, "--model", "mini", "--port", "0")
    assert ran.code == 4 and "This index was made with another encoder than mini is now" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--host", "256.0.0.1"], 2, "Nothing can listen on 256.0.0.1:8000"),
        (["--port", "70000"], 2, "The 'port' of the service must be at least 0 and below 65536. Got 70000."),
        (["--port", "-1"], 2, "The 'port' of the service must be at least 0 and below 65536. Got -1."),
        (["--keys", "no-such-file"], 3, "The keys in no-such-file cannot be read"),
        (["--cors", "*"], 2, "--cors takes the origin of a web page, such as https://example.org"),
        (["--seconds", "0"], 2, "The 'seconds' of a request must be above 0. Got 0.0."),
        (["--megabytes", "nan"], 2, "The 'megabytes' of a request must be above 0."),
        (["--waiting", "0"], 2, "The 'waiting' of the service must be at least 1. Got 0."),
    ],
)
def test_options_that_cannot_be(cli: Cli, index: Path, arguments: list[str], code: int, says: str) -> None:
    ran = cli("serve", index, *arguments)
    assert ran.code == code and says in ran.err and "Traceback" not in ran.err, ran.err


def test_what_is_neither_an_index_nor_a_model(cli: Cli, index: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    half = Path(shutil.copytree(index, tmp_path / "half"))
    next(half.glob("g*/dead.npy")).unlink()
    for argument, code, says in (
        (tmp_path / "empty", 3, "is neither an index (index.json) nor a model (config.json)."),
        (half, 3, "was copied only in part"),
        (tmp_path / "nothing" / "there", 4, "There is no model folder"),
    ):
        ran = cli("serve", argument, "--port", "0")
        assert ran.code == code and says in ran.err, ran.err
    listed = cli("serve", tmp_path / "empty", "--json")
    assert listed.code == 3 and "is neither an index" in listed.json["error"]
