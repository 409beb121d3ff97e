from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from sentence_transformers.util import pairwise_cos_sim

from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import load_sts
from mirrormask.data.text.sources import DatasetMissing, dataset_roots
from mirrormask.evaluation.sts import evaluate_sts, score_tasks, sentences, sts_spearman
from mirrormask.evaluation.vectors import TextVectors
from mirrormask.models.encoder import load
from mirrormask.models.names import model_roots

Write = Callable[[str, list[dict[str, Any]]], None]
Pairs = Callable[..., list[dict[str, Any]]]
Encoder = Callable[[Sequence[str]], NDArray[np.float32]]


def test_the_scores_are_scipys_under_every_aggregation(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    rows = pairs(90, seed=0, subsets=["a", "b", "b"])
    sts_root("sts12", rows)
    report = evaluate_sts([words], ["sts12"], names=["words"], resamples=50)
    left, right = (words([row[side] for row in rows]) for side in ("sentence1", "sentence2"))
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


def test_each_sentence_is_encoded_once_across_all_tasks(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    sts_root("sts12", pairs(40, seed=0, subsets=["a", "b"]))
    sts_root("sts13", pairs(40, seed=0, subsets=["c"]))  # the same sentences again
    seen: list[str] = []

    def recording(texts: Sequence[str]) -> NDArray[np.float32]:
        seen.extend(texts)
        return words(texts)

    evaluate_sts([recording], ["sts12", "sts13"], resamples=5)
    assert len(seen) == len(set(seen)) <= 80


def test_a_missing_task_is_skipped_named_and_not_averaged_over(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    sts_root("sts12", pairs(40, seed=0, subsets=["a"]))
    sts_root("stsb", pairs(40, seed=1))
    report = evaluate_sts([words], ["sts12", "sts13", "stsb"], names=["words"], resamples=20)
    assert list(report.tasks) == ["sts12", "stsb"]
    assert "mteb/sts13-sts/test.jsonl.gz" in report.skipped["sts13"]
    assert report.average_title == "average over 2 of 3 tasks (STS12, STS-B)"
    content = json.loads(json.dumps(report.to_dict()))
    assert content["average"]["over"] == ["sts12", "stsb"]
    both = [content["tasks"][name]["scores"]["words"]["spearman_all_percent"]["value"] for name in ("sts12", "stsb")]
    assert content["average"]["scores"]["words"]["spearman_all_percent"]["value"] == pytest.approx(np.mean(both))


def test_a_single_set_is_its_own_mean_and_unknown_subsets_have_none(
    sts_root: Write, pairs: Pairs, words: Encoder
) -> None:
    sts_root("sts14", pairs(40, seed=0))
    sts_root("stsb", pairs(40, seed=1))
    report = evaluate_sts([words], ["sts14", "stsb"], resamples=5)
    single = report.tasks["stsb"].comparison.values
    assert single["pearson_all_percent"] == single["pearson_mean_percent"] == single["pearson_wmean_percent"]
    assert report.tasks["sts14"].comparison.metrics == ["spearman_all_percent", "pearson_all_percent"]
    assert report.average.metrics == ["spearman_all_percent", "pearson_all_percent"]


def test_two_models_are_compared_on_the_same_pairs(
    sts_root: Write, pairs: Pairs, words: Encoder, noise: Encoder
) -> None:
    sts_root("stsb", pairs(200, seed=0))
    report = evaluate_sts([noise, words], ["stsb"], names=["noise", "words"])
    assert report.average.difference("spearman_all_percent", 1).real
    assert "words is better than noise by" in report.average.verdicts("spearman_all_percent")[0]
    again = evaluate_sts([words, words], ["stsb"])
    assert "no evidence that model 2 and model 1 differ" in again.average.verdicts("spearman_all_percent")[0]


def test_pairs_that_two_tasks_share_are_drawn_together(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    shared, other = pairs(200, seed=0), pairs(200, seed=5)
    sts_root("sts12", shared)
    sts_root("sts13", shared)
    sts_root("sts14", other)
    whole = evaluate_sts([words], ["sts12", "sts13"], resamples=400)
    for both in (whole.average, whole.tasks["sts12"].comparison):
        np.testing.assert_array_equal(
            both.resamples["spearman_all_percent"], whole.tasks["sts13"].comparison.resamples["spearman_all_percent"]
        )
    assert whole.average.units < 400

    def width(tasks: list[str]) -> float:
        found = evaluate_sts([words], tasks, resamples=400).average.score("spearman_all_percent", 0)
        return found.high - found.low

    assert width(["sts12", "sts13"]) == pytest.approx(width(["sts12"]), rel=0.15), "the same pairs twice tell no more"
    assert width(["sts12", "sts14"]) < 0.85 * width(["sts12", "sts13"]), "other pairs do"


def test_subsets_keep_their_size_in_every_resample() -> None:
    from mirrormask.evaluation.sts import _strata

    texts = tuple(f"text {number}" for number in range(9))
    one = ScoredPairs("a", "", texts[:6], texts[3:], np.arange(6.0), ("x", "x", "y", "y", "y", "y"))
    two = ScoredPairs("b", "", texts[:2], texts[3:5], np.arange(2.0))
    groups = _strata([one, two], {"a": np.arange(6), "b": np.arange(5, 7)}, 7)
    assert sorted(group.tolist() for group in groups) == [[0, 1], [2, 3, 4, 5], [6]], "a shared pair is in its first"


def test_an_encoder_that_says_the_same_of_everything_scores_zero(sts_root: Write, pairs: Pairs) -> None:
    sts_root("stsb", pairs(30, seed=0))
    report = evaluate_sts([lambda texts: np.ones((len(texts), 4))], ["stsb"], resamples=5)
    assert report.average.values["spearman_all_percent"][0] == 0.0


def test_without_any_data_there_is_one_error(sts_root: Write, words: Encoder) -> None:
    with pytest.raises(DatasetMissing, match="Set MIRRORMASK_DATA"):
        evaluate_sts([words], ["sts12", "sts13"])


def test_one_number_for_choosing_a_checkpoint(sts_root: Write, pairs: Pairs, words: Encoder) -> None:
    sts_root("stsb-dev", pairs(60, seed=0))
    report = evaluate_sts([words], ["stsb-dev"], resamples=5)
    expected = 100 * report.average.values["spearman_all_percent"][0]
    assert sts_spearman(words) == pytest.approx(expected)


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


@pytest.mark.shared
def test_a_real_encoder_scores_as_with_plain_encode() -> None:
    if not dataset_roots() or not any((root / "mini").is_dir() for root in model_roots()):
        pytest.skip("MIRRORMASK_DATA and MIRRORMASK_MODELS are not set")
    whole = load_sts("stsb-dev")
    left, right, gold = whole.sentence1[:150], whole.sentence2[:150], whole.scores[:150]
    task = ScoredPairs("stsb-dev", "validation", left, right, gold, single=True)
    encoder = load("mini", device="cpu")
    vectors = TextVectors.encode(encoder, sentences([task]))
    report = score_tasks([task], {}, ["mini"], [vectors], resamples=10)
    cosines = pairwise_cos_sim(encoder.encode(list(left)), encoder.encode(list(right))).numpy()
    expected = 100 * stats.spearmanr(cosines, gold).statistic
    assert report.average.score("spearman_all_percent", 0).value == pytest.approx(expected, abs=0.1)
