"""The benchmark of the family runs from end to end at a small size, and its page says what the records say."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import family_page
import family_runs
import pytest
from retrieval import APART, CHOSEN_ON


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[str]) -> Path:
    """A text, STS tasks and a collection, written for the test."""
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    family_runs.collection_of.cache_clear()
    family_runs.text_folder.cache_clear()
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "wiki100k.txt").write_text("\n".join(sentences[:100]))
    pairs = [
        {"sentence1": a, "sentence2": b, "score": float(len(set(a.split()) & set(b.split())) % 6), "subset": "one"}
        for a, b in zip(sentences[:30], sentences[30:60], strict=True)
    ]
    lines = "\n".join(map(json.dumps, pairs))
    for task in ("sts12-sts", "sts13-sts", "sts14-sts", "sts15-sts", "stsbenchmark-sts"):
        (tmp_path / "mteb" / task).mkdir(parents=True)
        for split in ("test", "validation"):
            (tmp_path / "mteb" / task / f"{split}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    folder = tmp_path / "retrieval" / "cranfield"
    folder.mkdir(parents=True)
    for name, texts in (("docs", sentences[:20]), ("queries", sentences[20:24])):
        rows = "\n".join(json.dumps({"id": f"{name}{i}", "text": text}) for i, text in enumerate(texts))
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(rows.encode()))
    judged = "\n".join(f"queries{i}\tdocs{i}\t1" for i in range(4))
    (folder / "qrels.tsv.gz").write_bytes(gzip.compress(judged.encode()))
    return tmp_path


def run(part: str, out: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, *more: str) -> None:
    changes = [f"model.name={tiny}", "training.steps=2", "training.batch_size=8", "training.evaluate_every=2"]
    options = ["--out", str(out), "--part", part, "--collections", "cranfield", "--set", *changes, *more]
    monkeypatch.setattr(sys, "argv", ["runs", *options])
    family_runs.main()


def test_runs_are_made_once_and_the_page_tells_them(
    data: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = data / "records"
    monkeypatch.setattr(family_runs, "RATES", (1e-4, 1e-2))
    monkeypatch.setattr(family_runs, "BASELINES", ("start", "words-sif"))
    only = ("--only", "simcse", "keyword-passages")
    run("seeds", out, tiny_folder, monkeypatch, *only)
    assert "No rate was chosen yet for keyword-passages, simcse" in capsys.readouterr().out
    run("rates", out, tiny_folder, monkeypatch, *only, "--seeds", "1")
    assert len(family_runs.records_of(out)) == 4
    run("seeds", out, tiny_folder, monkeypatch, *only, "--seeds", "11")
    monkeypatch.setattr(family_runs, "trained", lambda *_: pytest.fail("made again"))
    run("seeds", out, tiny_folder, monkeypatch, *only, "--seeds", "11")
    run("baselines", out, tiny_folder, monkeypatch)
    records = family_runs.records_of(out)
    assert len(records) == 8
    made = next(each for each in records if each["part"] == "seeds")
    assert set(made["sts"]) == set(family_runs.STS)
    assert set(made["search"]) == {"cranfield"}
    assert made["seconds_per_step"] > 0
    written = family_page.page(records, data / "family-cost.svg")
    assert "| `words-sif` |" in written
    assert (data / "family-cost.svg").read_bytes().startswith(b"<svg")
    assert "Not run yet: " in written


def scores(name: str, seed: int, quality: float, cost: float) -> dict[str, Any]:
    search = dict.fromkeys((*CHOSEN_ON, *APART), quality)
    sts = dict.fromkeys(family_runs.STS, quality)
    return {"name": name, "part": "seeds", "seed": seed, "sts": sts, "search": search, "seconds_per_step": cost}


def test_the_rule_decides() -> None:
    seeds = range(11, 21)

    def told(name: str, gain: float, cost: float) -> str:
        records = [scores("simcse", seed, 50, 1.0) for seed in seeds]
        records += [scores("keyword-passages", seed, 60 + seed % 3, 1.0) for seed in seeds]
        records += [scores(name, seed, 60 + seed % 3 + gain + 0.01 * (seed % 2), cost) for seed in seeds]
        return family_page.verdicts(family_page.rows_of(records))

    assert "the default becomes `tsdae`" in told("tsdae", 1.0, 1.2)
    assert "`keyword-passages` stays the default" in told("tsdae", -1.0, 1.2)
    dear = told("tsdae", 1.0, 1.6)
    assert "better, and too dear" in dear
    assert "`keyword-passages` stays the default" in dear
    labels = told("sentence-bert", 9.0, 1.0)
    assert "learns from labels" in labels
    assert "`keyword-passages` stays the default" in labels
    assert family_page.smallest([1.0, 1.0, 1.0]) == 0
    assert family_page.smallest([0.0, 2.0] * 5) == pytest.approx((2.262 + 0.883) * 1.0541 / 10**0.5, abs=1e-3)


def test_the_page_without_records_is_the_one_in_docs() -> None:
    written = family_page.page([], family_page.PAGE)
    assert "the numbers are to come" in written
    for path in family_runs.RECIPES.glob("*.toml"):
        assert f"`{path.stem}`" in written
