"""The benchmark of search runs from end to end at a small size, and its last line is what it found."""

from __future__ import annotations

import json
import sys

import pytest
import search_speed


def test_an_index_is_compared_with_its_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("rank_bm25")
    monkeypatch.setattr(sys, "argv", ["benchmark", "--rows", "600", "--width", "16", "--queries", "10"])
    search_speed.main()
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["name"] == "search_speed" and found["ratio"] == found["query_ratio"] > 0
    assert found["recall_at_10"] > 0.95 and found["build_ratio"] > 0


def test_the_memory_of_indexing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from mirrormask.search.text_encoder import TextEncoder

    monkeypatch.setattr(TextEncoder, "load", TextEncoder.load)  # put back what the benchmark replaces
    found = search_speed.peak_memory(300, 16)
    assert found["rows"] == 300 and found["peak_mb"] > 10
