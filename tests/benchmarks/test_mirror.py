"""The benchmarks of Mirror-BERT run from end to end at a small size, and their page says what the records say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mirror_page
import mirror_runs
import mirror_speed
import numpy as np
import pytest


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: list[str]) -> Path:
    """Small collections of every kind that the runs read, written for the test."""
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    mirror_runs.lines_of.cache_clear()
    words = sorted({word.strip(".") for text in sentences for word in text.split()})
    for folder in ("corpus", "words"):
        (tmp_path / folder).mkdir()
    (tmp_path / "corpus" / "mirror_sentences_10k.txt").write_text("\n".join(sentences))
    (tmp_path / "words" / "en_words_top_10k.txt").write_text("\n".join(words))
    pairs = "\n".join(f"{a}\t{b}\t{len(a) % 5}" for a, b in zip(words, words[3:], strict=False))
    for source in mirror_runs.WORD_TASKS.values():
        (tmp_path / "words" / source.file).write_text(pairs)
    return tmp_path


def test_training_is_timed_against_padding(
    data: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--model", str(tiny_folder), "--batch-size", "8", "--steps", "1", "--rounds", "1"]
    monkeypatch.setattr(sys, "argv", ["benchmark", *options])
    mirror_speed.main()
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["name"] == "mirror_speed"
    assert found["ratio"] == pytest.approx(found["sentences_per_second"] / found["padded_sentences_per_second"])
    assert 5 < found["mean_tokens"] < 20


def test_runs_are_kept_and_gone_on_with(data: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = data / "results"
    for most in ("1", "2"):
        options = ["words", "--out", str(out), "--model", str(tiny_folder), "--most", most]
        monkeypatch.setattr(sys, "argv", ["runs", *options])
        mirror_runs.main()
    records = [json.loads(line) for line in (out / "words.jsonl").read_text().splitlines()]
    assert [(each["name"], each["seed"]) for each in records] == [("tune 2e-05 cls", 1001), ("tune 2e-05 mean", 1001)]
    assert set(mirror_runs.WORD_TASKS) < set(records[0]["scores"])
    assert mirror_runs.best_of(records, "words")[0] == 2e-05


def test_texts_of_a_run(data: Path) -> None:
    words = mirror_runs.lines_of("words/en_words_top_10k")
    config = mirror_runs.config_of("words", rate=1e-4)
    assert mirror_runs.texts_of(config, 1) == list(words)
    random = mirror_runs.texts_of({**config, "random": True}, 1)
    assert [len(word) for word in random] == [len(word) for word in words]
    assert set(random) != set(words)
    assert mirror_runs.texts_of({**config, "without": True}, 1) == [], "all of them are asked for here"
    assert len(mirror_runs.texts_of({**config, "texts": 5}, 1)) == 5


def record(name: str, seed: int, value: float, tasks: dict[str, str], config: dict[str, Any]) -> dict[str, Any]:
    scores = {**dict.fromkeys((*tasks, "stsb-dev", "mturk287", "mturk771"), value), "anisotropy": 0.25}
    return {"name": name, "seed": seed, "config": config, "scores": scores, "edition": 2, "train_seconds": 3.0}


def test_the_page_says_what_the_records_say() -> None:
    groups = []
    for group, tasks in mirror_page.TASKS.items():
        planned = [*mirror_runs.tuning(group), *mirror_runs.runs(group, 1e-4, "mean")]
        random = np.random.default_rng(0)
        values = {name: 40 + 20 * random.random() for name, _, _ in planned}
        values["tune 0.0001 mean"] = 90.0
        records = [record(name, seed, values[name] + 0.01 * seed, tasks, config) for name, config, seed in planned]
        groups.append(mirror_page.Runs(group, records))
    text = mirror_page.page(groups[0], groups[1], "")
    mean = groups[0].averages("mirror")
    assert f"**{mean.mean():.1f}**" in text
    assert "the second edition of `mini`" in text
    assert "on STS-B dev for sentences (0.0001)" in text
    assert "for words (0.0001, with `mean` pooling)" in text
    assert "| Mirror-BERT − `mini`, mean | " in text
    assert "Not measured yet" not in text
    figure = mirror_page.knowledge_figure({runs.group: runs for runs in groups})
    assert figure.startswith(b"<svg")
    assert (mirror_page.curve_figure({runs.group: runs for runs in groups}) or b"").startswith(b"<svg")


def test_what_was_not_measured_is_named_and_nothing_claimed_of_it() -> None:
    groups = []
    for group, tasks in mirror_page.TASKS.items():
        planned = [*mirror_runs.tuning(group), *mirror_runs.runs(group, 2e-5, "mean")]
        some = [each for each in planned if each[0] in ("mirror", "random strings", "untrained mean")]
        some += [each for each in planned if each[0] == "drop-head" and each[2] <= 3]
        some += [each for each in planned if each[0].startswith("tune 2e-05 mean")]
        records = [record(name, seed, 50.0 + len(name) + 0.1 * seed, tasks, config) for name, config, seed in some]
        groups.append(mirror_page.Runs(group, records))
    text = mirror_page.page(groups[0], groups[1], "")
    assert "Of the sentences: untrained cls, positives alone, negatives alone, drop-head (3 of 10 seeds)" in text
    assert "too few seeds" in text
    assert "lowest rate tried" in text
    assert mirror_page.curve_figure({runs.group: runs for runs in groups}) is None
