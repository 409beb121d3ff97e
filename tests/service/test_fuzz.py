"""Requests that nobody would send by reason; `benchmarks/serve_fuzz.py` sends thousands of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from mirrormask.service.answering import Service
from mirrormask.service.app import make_app

pytest.importorskip("hypothesis")


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_answered_with_a_500(service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    serve_fuzz = pytest.importorskip("serve_fuzz")
    seen = serve_fuzz.fuzz(TestClient(make_app(service), raise_server_exceptions=False), 150, str(tmp_path.parents[2]))
    sys.modules.pop("serve_fuzz")
    assert seen.total() >= 150 and seen[200] > 20 and seen[400] + seen[422] > 20 and seen[404] + seen[405] > 5
