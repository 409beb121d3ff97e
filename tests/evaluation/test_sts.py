from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from mirrormask.data import sources
from mirrormask.data.sources import DatasetMissing, dataset_roots
from mirrormask.data.sts import STS_TASKS
from mirrormask.evaluation.sts import evaluate_sts, sts_spearman

WORDS = ("river", "stone", "cloud", "garden", "letter", "window", "morning", "forest", "silver", "winter")


def bag_of_words(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.array([[text.split().count(word) for word in WORDS] + [0.1] for text in texts], dtype=np.float32)


def noise(texts: Sequence[str]) -> NDArray[np.float32]:
    return np.random.default_rng(len(texts)).normal(size=(len(texts), 8)).astype(np.float32)


def pairs(count: int, seed: int, subsets: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Make pairs whose score is how many of five words they share, a little blurred."""
    random = np.random.default_rng(seed)
    rows = []
    for number in range(count):
        words = random.permutation(WORDS)
        shared = int(random.integers(0, 6))
        row = {
            "sentence1": " ".join(words[:5]),
            "sentence2": " ".join([*words[:shared], *words[5 : 10 - shared]]),
            "score": float(np.clip(shared + random.normal(0, 0.7), 0, 5)),
        }
        rows.append({**row, "subset": subsets[number % len(subsets)]} if subsets else row)
    return rows


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRRORMASK_DATA", str(tmp_path))
    monkeypatch.setattr(sources, "_hub_rows", _no_hub)
    return tmp_path


def _no_hub(name: str, split: str) -> NoReturn:
    raise sources._missing(name, split, "the hub cannot be reached", "connect to the internet")


def write(root: Path, name: str, rows: list[dict[str, Any]]) -> None:
    path = root / STS_TASKS[name].dataset / f"{STS_TASKS[name].split}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_the_scores_are_scipys_under_every_aggregation(root: Path) -> None:
    rows = pairs(90, seed=0, subsets=["a", "b", "b"])
    write(root, "sts12", rows)
    report = evaluate_sts([bag_of_words], ["sts12"], names=["words"], resamples=50)
    left, right = (bag_of_words([row[side] for row in rows]) for side in ("sentence1", "sentence2"))
    cosines = np.array([x @ y / np.linalg.norm(x) / np.linalg.norm(y) for x, y in zip(left, right, strict=True)])
    gold = np.array([row["score"] for row in rows])
    found = report.tasks["sts12"]
    np.testing.assert_allclose(found.similarities[0], cosines, atol=1e-6)
    for name, scipys in (("spearman", stats.spearmanr), ("pearson", stats.pearsonr)):
        parts = {
            subset: scipys(*(v[[row["subset"] == subset for row in rows]] for v in (found.similarities[0], gold)))[0]
            for subset in ("a", "b")
        }
        values = found.comparison.values
        assert values[f"{name}_all_percent"][0] == pytest.approx(scipys(found.similarities[0], gold)[0])
        assert values[f"{name}_mean_percent"][0] == pytest.approx((parts["a"] + parts["b"]) / 2)
        assert values[f"{name}_wmean_percent"][0] == pytest.approx((30 * parts["a"] + 60 * parts["b"]) / 90)
        assert found.subsets["a"][f"{name}_percent"][0] == pytest.approx(parts["a"])


def test_each_sentence_is_encoded_once_across_all_tasks(root: Path) -> None:
    write(root, "sts12", pairs(40, seed=0, subsets=["a", "b"]))
    write(root, "sts13", pairs(40, seed=0, subsets=["c"]))  # the same sentences again
    seen: list[str] = []

    def recording(texts: Sequence[str]) -> NDArray[np.float32]:
        seen.extend(texts)
        return bag_of_words(texts)

    evaluate_sts([recording], ["sts12", "sts13"], resamples=5)
    assert len(seen) == len(set(seen)) <= 80


def test_a_missing_task_is_skipped_named_and_not_averaged_over(root: Path) -> None:
    write(root, "sts12", pairs(40, seed=0, subsets=["a"]))
    write(root, "stsb", pairs(40, seed=1))
    report = evaluate_sts([bag_of_words], ["sts12", "sts13", "stsb"], names=["words"], resamples=20)
    assert list(report.tasks) == ["sts12", "stsb"]
    assert "mteb/sts13-sts/test.jsonl.gz" in report.skipped["sts13"]
    assert report.average_title == "average over 2 of 3 tasks (STS12, STS-B)"
    content = json.loads(json.dumps(report.to_dict()))
    assert content["average"]["over"] == ["sts12", "stsb"]
    both = [content["tasks"][name]["scores"]["words"]["spearman_all_percent"]["value"] for name in ("sts12", "stsb")]
    assert content["average"]["scores"]["words"]["spearman_all_percent"]["value"] == pytest.approx(np.mean(both))


def test_a_single_set_is_its_own_mean_and_unknown_subsets_have_none(root: Path) -> None:
    write(root, "sts14", pairs(40, seed=0))
    write(root, "stsb", pairs(40, seed=1))
    report = evaluate_sts([bag_of_words], ["sts14", "stsb"], resamples=5)
    single = report.tasks["stsb"].comparison.values
    assert single["pearson_all_percent"] == single["pearson_mean_percent"] == single["pearson_wmean_percent"]
    assert report.tasks["sts14"].comparison.metrics == ["spearman_all_percent", "pearson_all_percent"]
    assert report.average.metrics == ["spearman_all_percent", "pearson_all_percent"]


def test_two_models_are_compared_on_the_same_pairs(root: Path) -> None:
    write(root, "stsb", pairs(200, seed=0))
    report = evaluate_sts([noise, bag_of_words], ["stsb"], names=["noise", "words"])
    assert report.average.difference("spearman_all_percent", 1).real
    assert "words is better than noise by" in report.average.verdicts("spearman_all_percent")[0]
    again = evaluate_sts([bag_of_words, bag_of_words], ["stsb"])
    assert "no evidence that model 2 and model 1 differ" in again.average.verdicts("spearman_all_percent")[0]


def test_an_encoder_that_says_the_same_of_everything_scores_zero(root: Path) -> None:
    write(root, "stsb", pairs(30, seed=0))
    report = evaluate_sts([lambda texts: np.ones((len(texts), 4))], ["stsb"], resamples=5)
    assert report.average.values["spearman_all_percent"][0] == 0.0


def test_without_any_data_there_is_one_error(root: Path) -> None:
    with pytest.raises(DatasetMissing, match="Set MIRRORMASK_DATA"):
        evaluate_sts([bag_of_words], ["sts12", "sts13"])


def test_one_number_for_choosing_a_checkpoint(root: Path) -> None:
    write(root, "stsb-dev", pairs(60, seed=0))
    report = evaluate_sts([bag_of_words], ["stsb-dev"], resamples=5)
    expected = 100 * report.average.values["spearman_all_percent"][0]
    assert sts_spearman(bag_of_words) == pytest.approx(expected)


@pytest.mark.shared
def test_word_overlap_on_the_real_task_is_far_above_chance() -> None:
    if not dataset_roots():
        pytest.skip("MIRRORMASK_DATA is not set")

    def hashed(texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), 4096), dtype=np.float32)
        for row, text in enumerate(texts):
            for word in text.lower().split():
                vectors[row, sum(ord(letter) * 31**place for place, letter in enumerate(word)) % 4096] += 1
        return vectors

    report = evaluate_sts([hashed], ["stsb"], resamples=100)
    assert 40 < report.average.score("spearman_all_percent", 0).value < 50
