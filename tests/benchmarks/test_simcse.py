"""The runs of SimCSE's tables: what waits for others, the page from records, and the benchmarks at a small size."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import simcse_page
import simcse_runs
import supervised
import transfer_speed
from simcse_published import AUGMENTATION, AUXILIARY, DROPOUT, OBJECTIVES, POSITIVES

WORDS = ("warm", "kind", "bright", "cold", "rude", "dull", "river", "boat", "garden", "letter")


def record(group: str, row: str, seed: int, dev: float, average: float, **more: Any) -> dict[str, Any]:
    scores = {**dict.fromkeys((*simcse_runs.AVERAGED, "average"), average), "stsb-dev": dev}
    scores |= {"alignment": 0.2, "uniformity": -2.0 + 0.1 * seed}
    return {
        "group": group,
        "row": row,
        "seed": seed,
        "overrides": [],
        "pairs": 9,
        "seconds": 1,
        "scores": scores,
        **more,
    }


def put(out: Path, one: dict[str, Any]) -> None:
    (out / f"{one['group']}.{one['row']}.{one['seed']}.json").write_text(json.dumps(one))


def test_every_row_of_the_published_tables_is_run() -> None:
    rows = {(job.group, job.row) for job in simcse_runs.jobs()}
    tables: dict[str, set[str]] = {
        "augmentation": set(AUGMENTATION),
        "dropout": set(DROPOUT),
        "auxiliary": set(AUXILIARY),
    }
    for group, table in tables.items():
        assert {row for name, row in rows if name == group} == table
    assert {row for name, row in rows if name == "objectives"} == {f"{r}{d}" for r in OBJECTIVES for d in ("", "-dual")}
    assert {row.removesuffix("-sample") for name, row in rows if name == "positives"} == set(POSITIVES)
    names = [job.name for job in simcse_runs.jobs()]
    assert len(names) == len(set(names))
    assert all(job.recipe is None or job.recipe.is_file() for job in simcse_runs.jobs())


def test_what_helped_is_combined_and_the_best_is_claimed(tmp_path: Path) -> None:
    combined = simcse_runs.Job("tune", "combined", 101, simcse_runs.SUPERVISED, plan="combined")
    best = simcse_runs.Job("claim", "supervised", 1, simcse_runs.SUPERVISED, ("method.masked_lm=0.1",), plan="best")
    gains = {"base": 70.0, "rate-2e-4": 70.5, "rate-5e-4": 70.9, "batch-512": 70.3, "steps-800": 70.05}
    for seed in simcse_runs.TUNED_WITH:
        for row, more in simcse_runs.FACTORS.items():
            assert simcse_runs.planned(tmp_path, combined) is None, "they are not over"
            put(tmp_path, record("tune", row, seed, gains.get(row, 69.0), 60.0, overrides=list(more)))
    found = simcse_runs.planned(tmp_path, combined)
    assert found is not None
    assert set(found) == {*simcse_runs.BASE, "training.learning_rate=5e-4", "training.batch_size=512"}
    assert simcse_runs.planned(tmp_path, best) is None
    (tmp_path / "tune.combined.101.failed").touch()
    assert simcse_runs.planned(tmp_path, best) is not None, "what cannot be does not hold up the rest"
    (tmp_path / "tune.combined.101.failed").unlink()
    for seed in simcse_runs.TUNED_WITH:
        put(tmp_path, record("tune", "combined", seed, 70.7, 60.0, overrides=list(found)))
    assert simcse_runs.planned(tmp_path, best) == ("training.learning_rate=5e-4", "method.masked_lm=0.1")


def test_a_run_is_claimed_once(tmp_path: Path) -> None:
    job = simcse_runs.jobs()[0]
    with simcse_runs.claimed(tmp_path, job) as mine, simcse_runs.claimed(tmp_path, job) as theirs:
        assert mine and not theirs
    put(tmp_path, record(job.group, job.row, job.seed, 1.0, 1.0))
    with simcse_runs.claimed(tmp_path, job) as again:
        assert not again, "it is done"


def test_the_page_says_what_the_records_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simcse_page, "PAGE", tmp_path / "page.md")
    for seed in range(1, 11):
        put(tmp_path, record("claim", "supervised", seed, 80.0, 73.0 + seed / 10))
        put(tmp_path, record("claim", "unsupervised", seed, 74.0, 66.0))
    monkeypatch.setattr(simcse_page.Page, "figures", lambda self: "")
    simcse_page.Page(tmp_path).write()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "is +7.55 points above" in page and "p = 0.0020" in page and "reaches the 72.5" in page
    assert "| the default, keyword-passages | 66.0 ± 0.0 |" in page
    assert "## Table 2" not in page and "- Table 2 (data augmentation): all rows" in page, "not measured is said"


def test_without_paired_seeds_nothing_is_claimed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The runs that chose the settings stand for them until the paired ones are made."""
    monkeypatch.setattr(simcse_page, "PAGE", tmp_path / "page.md")
    monkeypatch.setattr(simcse_page.Page, "figures", lambda self: "")
    for seed in simcse_runs.TUNED_WITH:
        put(tmp_path, record("tune", "base", seed, 80.0, 72.0))
        put(tmp_path, record("tune", "steps-800", seed, 81.0, 73.0))
    for seed in range(1, 7):
        put(tmp_path, record("claim", "unsupervised", seed, 74.0, 66.0))
    simcse_page.Page(tmp_path).write()
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert "| **supervised SimCSE** | 73.0 ± 0.0 |" in page and "101, 102 |" in page
    assert "+7.00 points" in page and "nothing is claimed about significance" in page and "p = " not in page


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with a little of everything that is measured."""
    random = np.random.default_rng(0)
    root = tmp_path / "data"
    monkeypatch.setenv("MIRRORMASK_DATA", str(root))

    def text() -> str:
        return " ".join(map(str, random.choice(WORDS, 5)))

    def write(name: str, rows: list[dict[str, Any]]) -> None:
        path = root / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    for name in ("sts12-sts/test", "sts13-sts/test", "sts14-sts/test", "sts15-sts/test"):
        write(f"mteb/{name}", [{"sentence1": text(), "sentence2": text(), "score": n % 6} for n in range(12)])
    for name in ("test", "validation"):
        rows = [{"sentence1": text(), "sentence2": text(), "score": n % 6} for n in range(12)]
        write(f"mteb/stsbenchmark-sts/{name}", rows)
    for name in ("cr/all", "sst2/train", "sst2/validation", "sst2/test"):
        write(f"senteval/{name}", [{"text": f"{text()} {WORDS[n % 2]}", "label": n % 2} for n in range(24)])
    labels = ("entailment", "contradiction")
    rows = [{"premise": f"{WORDS[n // 10]} {WORDS[n % 10]} boat", "hypothesis": text()} for n in range(60)]
    for name in ("pairs/train", "snli/validation", "snli/test"):
        write(f"nli/{name}", [{**row, "label": label} for row in rows for label in labels])
    (root / "wiki100k.txt").write_text("".join(f"{text()} {text()} {n}\n" for n in range(80)))
    return root


def figures(module: Any, options: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    monkeypatch.setattr(sys, "argv", ["benchmark", *options])
    module.main()
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def test_the_claim_at_a_small_size(
    data: Path, tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    small = [f'model.name="{tiny_folder}"', "training.steps=2", "training.batch_size=8", "training.evaluate_every=2"]
    options = ["--out", str(tmp_path / "out"), "--seeds", "1,2", *(x for each in small for x in ("--set", each))]
    found = figures(supervised, options, monkeypatch, capsys)
    assert found["name"] == "supervised" and len(found["averages"]["supervised"]) == 2
    assert found["difference"] == pytest.approx(found["average"] - found["unsupervised"], abs=0.02)
    assert not found["holds"], "two seeds show nothing"
    kept = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.json")}
    assert len(kept) == 4
    assert figures(supervised, options, monkeypatch, capsys) == found
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("*.json")} == kept, "not made again"


def test_the_speed_of_the_suite_at_a_small_size(
    data: Path, made_once: Callable[..., Path], tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    found = figures(transfer_speed, ["--model", str(tiny_folder), "--folds", "3"], monkeypatch, capsys)
    assert found["tasks"] == ["cr", "sst2"], "those whose data is there"
    assert found["ratio"] == pytest.approx(found["peer_seconds"] / found["ours_seconds"], rel=0.2)
    assert found["largest_accuracy_difference_points"] <= 100 / 24 + 0.01, "at most one text apart"
