"""The benchmarks with labels run from end to end on a tiny model and written text."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import class_loss_cost
import classify_page
import classify_tables
import few_labels
import labelled_runs
import pytest


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch, sentences: list[str]) -> dict[str, ModuleType]:
    """The modules, their tasks being sentences told by one word."""
    rows = [(text, word) for text in sentences for word in ("boat", "clock") if word in text]
    task = labelled_runs.Task("written", rows[:60], rows[60:80], rows[80:110])
    for module in (few_labels, classify_tables, class_loss_cost):
        monkeypatch.setattr(module, "task", lambda name: task)
    monkeypatch.setattr(few_labels, "RATES", (3e-3,))
    monkeypatch.setattr(few_labels, "STEPS", (2, 3))
    monkeypatch.setattr(classify_tables, "RATES", (3e-3,))
    return {module.__name__: module for module in (few_labels, classify_tables, class_loss_cost, classify_page)}


def run(module: ModuleType, monkeypatch: pytest.MonkeyPatch, *arguments: str | Path) -> None:
    monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, arguments)])
    module.main()


def test_from_runs_to_the_page(
    parts: dict[str, ModuleType], tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("sst2", "mr"):
        options = ("--start", tiny_folder, "--sizes", "4", "--seeds", "2", "--out", tmp_path / f"few-{name}.jsonl")
        run(parts["few_labels"], monkeypatch, "--task", name, *options)
    lines = [json.loads(line) for line in (tmp_path / "few-mr.jsonl").read_text().splitlines()]
    assert {row["method"] for row in lines if row["phase"] == "test"} == {"contrast", "fine-tuning", "setfit", "frozen"}
    assert sum(row["phase"] == "search" for row in lines) == 3 * 2
    report = parts["few_labels"].table(sorted(tmp_path.glob("few-*.jsonl")))["tiny, 4 a class"]
    assert set(report) == {"sst2", "mr"}, "no mean over so few seeds"
    assert report["mr"]["seeds"] == 2 and set(report["mr"]["contrast_against"]) == {"fine-tuning", "setfit", "frozen"}
    reached = [row["test"] for row in lines if row["phase"] == "test" and row["method"] == "setfit"]
    assert report["mr"]["methods"]["setfit"] == pytest.approx(sum(reached) / 2)
    options = ("--start", tiny_folder, "--seeds", "2", "--batch", "16", "--out", tmp_path / "tables-x.jsonl")
    run(parts["classify_tables"], monkeypatch, "--set", "emoint", *options)
    cost = ("--model", tiny_folder, "--batch", "8", "--rounds", "2", "--out", tmp_path / "cost.json")
    run(parts["class_loss_cost"], monkeypatch, *cost)
    assert set(json.loads((tmp_path / "cost.json").read_text())["ratios"]) == {"sup-con", "lcl"}
    page = tmp_path / "page.md"
    run(parts["classify_page"], monkeypatch, tmp_path, "--out", page)
    text = page.read_text(encoding="utf-8")
    for said in ("# Learning with labels", "(setfit)", "| emoint | 2 |", "4 labels a class", "sup-con"):
        assert said in text, said


def test_the_mean_is_over_tasks_and_seeds_that_all_methods_have(tmp_path: Path) -> None:
    known = {"phase": "test", "start": "s", "size": 8}
    rows = [
        {**known, "task": task, "method": method, "seed": seed, "test": value + shift + seed}
        for task, seeds, shift in (("mr", 8, 0.0), ("ag", 7, 10.0), ("cr", 2, 20.0))
        for method, value in (("contrast", 60.0), ("fine-tuning", 57.0), ("setfit", 60.5), ("frozen", 58.0))
        for seed in range(seeds)
    ]
    path = tmp_path / "few.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = few_labels.table([path])["s, 8 a class"]
    assert set(found) == {"mr", "cr", "ag", "mean of mr, ag"}
    mean = found["mean of mr, ag"]
    assert mean["seeds"] == 7 and mean["methods"]["contrast"] == pytest.approx(68.0)
    assert mean["contrast_against"]["fine-tuning"] == {"by": pytest.approx(3.0), "p": pytest.approx(2**-6)}


def test_no_run_is_begun_when_time_is_over(
    parts: dict[str, ModuleType], tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "few.jsonl"
    options = ("--start", tiny_folder, "--seconds", "-1", "--out", out)
    run(parts["few_labels"], monkeypatch, "--task", "mr", *options)
    run(parts["classify_tables"], monkeypatch, "--set", "emoint", *options)
    assert not out.exists()
