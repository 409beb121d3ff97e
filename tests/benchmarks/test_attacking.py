"""The page of the attack results says what its records say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import attacking
import pytest


def record(attack: str, success: float, **more: Any) -> dict[str, Any]:
    figures = {"texts": 1000, "accuracy": 80.0, "under_attack": 80 - 0.8 * success, "success": success, "queries": 99.0}
    rest = {"similarity": 0.93, "changed": 9.5, "perplexity": 80.0, "perplexity_before": 50.0, "seconds": 100.0}
    held = {"not_rechecked": 0, "least_similarity": 0.87, "threshold": 0.85, "tags": {"ADJ → ADJ": 30, "+ ADV": 10}}
    return {"data": "mr", "victim": "bert", "attack": attack, **figures, **rest, **held, **more}


def records(**success: float) -> dict[str, Any]:
    names = {"R": "R", "I": "I", "RI": "R/I", "both": "R+I"}
    return {f"attack-{name}": record(names[name], value) for name, value in success.items()}


def test_the_page_has_the_papers_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, each in records(R=60, I=70, RI=75, both=80).items():
        (tmp_path / f"{name}.json").write_text(json.dumps(each))
    hard = {"accuracy": 80.0, "success": 60.0, "under_attack": 32.0}
    soft = {"accuracy": 79.5, "success": 29.0, "under_attack": 56.0}
    told = {
        "data": "mr",
        "victim": "bert",
        "texts": 8000,
        "added": 900,
        "measured": 1000,
        "before": hard,
        "after": soft,
    }
    (tmp_path / "harden-mr-bert.json").write_text(json.dumps(told))
    out = tmp_path / "attack.md"
    monkeypatch.setattr(sys, "argv", ["attacking.py", str(tmp_path), "--page", str(out)])
    attacking.main()
    page = out.read_text()
    assert "| BERT (`mini`) | original | 80.0 |" in page
    assert "|  | BAE-R+I | 16.0 (0.930) |" in page
    assert "|  | TextFooler | – |" in page
    assert "on every victim and set." in page
    assert "in 0 of 4 runs was a window less similar" in page
    assert "halved at no more than a point of clean accuracy in 1 of 1 cases" in page
    assert "| BERT (`mini`) | MR | 8,000 + 900 | 1,000 | 80.0 → 79.5 | 60.0 → 29.0 | 32.0 → 56.0 |" in page
    assert "## Speed" not in page, "what was not run is not there"
    assert "BERT (`mini`) on MR: TextFooler; BERT (`mini`) on IMDB: all attacks" in page


def test_an_order_that_does_not_hold_is_said() -> None:
    found = attacking.attacks(records(R=60, I=80, RI=70, both=71))
    assert "BAE-R/I is 10.0 points below BAE-I on BERT (`mini`), MR" in attacking.bars(found)
    near = attacking.attacks(records(R=60, I=71, RI=70, both=69))
    assert "on every victim and set." in attacking.bars(near)


def test_a_text_that_does_not_hold_is_counted() -> None:
    found = {("bert", "mr", "R"): record("R", 60, not_rechecked=3, least_similarity=0.8)}
    assert "3 of them did not hold" in attacking.bars(found)
    assert "in 1 of 1 runs was a window less similar" in attacking.bars(found)
