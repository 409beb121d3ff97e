"""The benchmark of the service runs from end to end at a small size: a real server, load, faults and SIGTERM."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import serve_load


@pytest.mark.filterwarnings("ignore")
def test_a_server_under_load_and_faults_answers_right(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_folder: Path
) -> None:
    sizes = {"--requests": "240", "--clients": "8", "--documents": "60", "--seconds": "60", "--model": str(tiny_folder)}
    monkeypatch.setattr(sys, "argv", ["benchmark", *(part for pair in sizes.items() for part in pair)])
    serve_load.main()
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["name"] == "serve_load" and found["ratio"] > 0 and found["requests"] == 240
    assert found["wrong"] == found["server_errors"] == found["lost"] == 0
    assert found["fault_wrong"] == found["fault_lost"] == 0 and found["fault_errors"] == {}
    assert found["large_body"] == 413 and found["slow_reader_right"] and found["exit_code"] == 0


def test_a_wrong_answer_is_seen() -> None:
    hit = {"id": "a", "score": 1.0, "passage": "x", "metadata": {}}
    truth = [[hit, {**hit, "id": "b", "score": 0.5}]]
    assert serve_load.right("/api/search", {"hits": truth[0]}, truth)
    assert not serve_load.right("/api/search", {"hits": truth[0][:1]}, truth)
    assert not serve_load.right("/api/search", {"hits": [{**hit, "id": "c"}, truth[0][1]]}, truth)
    assert not serve_load.right("/api/search", {"hits": [{**hit, "score": 1.1}, truth[0][1]]}, truth)
    assert not serve_load.right("/api/encode", {"vectors": [[1.0, 2.0]]}, [[[1.0, 2.1]]])
    assert serve_load.right("/api/similarity", {"cosine": 0.5}, [0.50001])
