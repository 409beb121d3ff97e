from __future__ import annotations

import json

import numpy as np
import pytest

from mirrormask.evaluation.statistics.bootstrap import difference
from mirrormask.evaluation.statistics.comparison import METRICS, averaged, compare, with_means
from mirrormask.evaluation.statistics.resamples import mean_of
from mirrormask.evaluation.statistics.significance import holm

METRIC = "mrr_at_10_percent"


def values(seed: int, shift: float = 0.0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0, 0.5, size=200) + shift


def test_scores_and_differences_of_two_models() -> None:
    found = compare(["a", "b"], {METRIC: [mean_of(values(0)), mean_of(values(0, 0.1))]}, 200)
    assert found.score(METRIC, 0).value == pytest.approx(100 * values(0).mean())
    assert found.score(METRIC, 0).low < found.score(METRIC, 0).value < found.score(METRIC, 0).high
    gain = found.difference(METRIC, 1)
    assert gain.value == pytest.approx(10)
    assert gain.low == pytest.approx(10)  # the same gain on every query has no spread
    assert found.verdicts(METRIC, "x.csv") == [
        "b is better than a by 10.0 points (95 % CI 10.0 to 10.0, p ≤ 0.002) in MRR@10 on x.csv."
    ]


def test_the_dictionary_is_json_keyed_by_model_and_metric() -> None:
    found = compare(["a", "b"], {METRIC: [mean_of(values(0)), mean_of(values(1))]}, 200, resamples=50)
    content = json.loads(json.dumps(found.to_dict()))
    assert set(content) == {"scores", "differences_to_first", "pairs_of_models"}
    assert set(content["scores"]["a"][METRIC]) == {"value", "low", "high", "confidence"}
    assert set(content["differences_to_first"]) == {"b"}
    assert isinstance(content["differences_to_first"]["b"][METRIC]["real"], bool)


def test_the_average_of_comparisons_is_over_the_metrics_they_share() -> None:
    one = compare(["a"], {METRIC: [mean_of(values(0))], "recall_at_1_percent": [mean_of(values(1))]}, 200, seed=1)
    two = compare(["a"], {METRIC: [mean_of(values(2))]}, 200, seed=2)
    both = averaged([one, two], 400)
    assert both.metrics == [METRIC]
    assert both.units == 400
    assert both.values[METRIC][0] == pytest.approx((values(0).mean() + values(2).mean()) / 2)
    width = both.score(METRIC, 0).high - both.score(METRIC, 0).low
    assert width < one.score(METRIC, 0).high - one.score(METRIC, 0).low  # two tasks say more than one


def test_weighted_means_hold_on_every_resample() -> None:
    measured = compare(["a"], {"x": [mean_of(values(0))], "y": [mean_of(values(1))]}, 200, resamples=20)
    found = with_means(measured, {"x": {"x": 1.0}, "z": {"x": 1.0, "y": 3.0}}, 200)
    assert found.metrics == ["x", "z"]
    np.testing.assert_allclose(found.resamples["x"], measured.resamples["x"])
    expected = 0.25 * measured.resamples["x"] + 0.75 * measured.resamples["y"]
    np.testing.assert_allclose(found.resamples["z"], expected)
    assert found.ordered(["z", "unknown", "x"]).metrics == ["z", "x"]


def test_every_metric_says_its_unit() -> None:
    assert all(key.endswith("_percent") for key in METRICS)


def test_every_two_models_are_tested_and_corrected() -> None:
    base = values(0)
    shifts = (0.0, 0.02, 0.1)
    noisy = [np.clip(base + shift + 0.1 * values(9 + number) - 0.05, 0, 2) for number, shift in enumerate(shifts)]
    found = compare(["a", "b", "c"], {METRIC: [mean_of(each) for each in noisy]}, 200)
    tested = found.differences(METRIC)
    assert list(tested) == [(0, 1), (0, 2), (1, 2)]
    scores, drawn = found.values[METRIC], found.resamples[METRIC]
    plain = [difference(float(scores[a]), float(scores[b]), drawn[a], drawn[b]) for a, b in tested]
    assert [each.p_value for each in tested.values()] == holm([each.p_value for each in plain])
    assert tested[0, 2].least_p == pytest.approx(3 * plain[1].least_p)
    assert found.difference(METRIC, 2) == tested[0, 2]
    best, *said = found.verdicts(METRIC, "x.csv")
    score = found.score(METRIC, 2).value
    assert (
        best
        == f"c is the best of 3 models in MRR@10 on x.csv: {score:.1f} (p-values are corrected for 3 pairs of models)."
    )
    assert len(said) == 3
    assert said[2].startswith("c is better than b by ")
    content = json.loads(json.dumps(found.to_dict()))
    assert [(each["first"], each["second"]) for each in content["pairs_of_models"]] == [
        ("a", "b"),
        ("a", "c"),
        ("b", "c"),
    ]


def test_the_highest_of_models_that_cannot_be_told_apart() -> None:
    noise = [mean_of(values(number)) for number in range(3)]
    best = compare(["a", "b", "c"], {METRIC: noise}, 200).verdicts(METRIC)[0]
    assert " is highest in MRR@10 with " in best
    assert "but cannot be told from " in best
