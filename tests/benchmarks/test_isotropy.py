"""The benchmarks of transforms and BERT-CF: what they fit, choose and write is what the records say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import bert_cf_page
import bert_cf_runs
import isotropy_page
import isotropy_runs
import numpy as np
import pytest
import whitening

from mirrormask.data.tasks.scored_pairs import ScoredPairs


def test_whitening_is_timed_against_the_product_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["whitening", "--rows", "2000", "--width", "64", "--batch", "500"])
    whitening.main()
    found = json.loads(capsys.readouterr().out)
    assert found["vectors"] == 2000
    assert found["ratio"] > 0
    assert found["batch_megabytes"] == 0.1


def test_a_kind_is_fitted_once_a_seed_or_not_at_all() -> None:
    rows = np.random.default_rng(0).normal(size=(60, 16)).astype(np.float32)
    assert len(isotropy_runs.fits("whitening", rows, 3)) == 1
    flows = isotropy_runs.fits("flow, 1 epochs", rows, 2)
    assert [flow(rows).shape for flow in flows] == [(60, 16)] * 2
    assert isotropy_runs.fits("whitening", rows[:10], 1) == [], "too few vectors"


def test_the_page_of_transforms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def scores(gain: float) -> dict[str, Any]:
        found: dict[str, Any] = {"none": {"score": 50.0, "mean_cosine": 0.6}}
        for kind, better in (("centering", 1.0), ("whitening", 4.0)):
            found[f"{kind}, wikipedia"] = {"score": [50.0 - gain], "mean_cosine": [0.2]}
            found[f"{kind}, own"] = {"score": [50.0 + better * gain], "mean_cosine": [0.0]}
        return found

    tasks = [*isotropy_page.TITLES, *isotropy_page.FIRST, *isotropy_page.APART]
    content = {"model": "mini", "wikipedia": 900, "seeds": 3}
    content["tasks"] = {name: {"texts": 9, "scores": scores(1.0)} for name in tasks}
    (tmp_path / "isotropy-mini.json").write_text(json.dumps(content))
    monkeypatch.setattr(isotropy_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(sys, "argv", ["page", str(tmp_path)])
    isotropy_page.main()
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "**whitening**. On the mean over STS12–15 and STS-B test it gives +4.0 points" in text
    assert "and -1.0 fitted on Wikipedia" in text
    assert "| whitening | own | 54.0 | 54.0 | 54.0 | 54.0 | 54.0 | 54.0 | **54.0** | 0.00 |" in text


def lay(folder: Path, name: str, seed: int, score: float, **more: Any) -> None:
    tasks = ("stsb-dev", "course-dev", *bert_cf_page.TESTED)
    record = {
        "row": name,
        "seed": seed,
        "temperature": 0.05,
        "steps": 9,
        "kept_step": 9,
        "rate": 2e-5,
        "sts": dict.fromkeys(tasks, score),
    }
    record |= {"alignment": 0.4, "uniformity": -2.0, "pairs": {"alike": 2, "all": 5}, "sts13_histogram": [0, 3, 1, 0]}
    (folder / f"{name}-{seed}.json").write_text(json.dumps({**record, **more}))


def test_the_page_of_bert_cf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for temperature, score in ((0.05, 60.0), (0.1, 61.0)):
        lay(tmp_path, f"search-{temperature}-2e-05", 1, score, temperature=temperature, rate=2e-5)
    assert bert_cf_runs.chosen(tmp_path) == (0.1, 2e-5)
    lay(tmp_path, "untrained", 0, 50.0, cosines={"sts13": [0.1, 0.2, 0.3, 0.9]})
    for number, row in enumerate(bert_cf_runs.ROWS):
        for seed in range(1, 11):
            lay(
                tmp_path,
                row,
                seed,
                60.0 + (2 if row == "bert-cf" else 0) + seed,
                cosines={"sts13": [0.9, 0.2, 0.3, number]},
            )
    pairs = ScoredPairs("sts13", "test", ("a",) * 4, ("b",) * 4, np.array([5.0, 1.0, 2.0, 3.0]))
    monkeypatch.setattr(bert_cf_page, "load_sts", lambda _: pairs)
    monkeypatch.setattr(bert_cf_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(sys, "argv", ["page", str(tmp_path)])
    bert_cf_page.main()
    text = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "Over 10 paired seeds BERT-CF is +2.00 points from the best of its parts" in text
    assert "(sign flips p = 0.002): it is at least as good" in text
    assert "60.0 at 0.05 and 2e-05, 61.0 at 0.1 and 2e-05" in text
    assert "| BERT-CF − Mirror | +2.00 | 0.002 | +2.00 | 0.002 | 10 |" in text
    assert "| 0 | 5.0 | 0.10 | 0.90 | " in text
    assert (tmp_path / "bert-cf-figure-3.svg").is_file()
