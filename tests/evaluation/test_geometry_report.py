from __future__ import annotations

import json

import numpy as np
import pytest

from mirrormask.data.tasks.scored_pairs import ScoredPairs
from mirrormask.data.tasks.sts_tasks import SCALE
from mirrormask.evaluation.geometry import measure_geometry, measure_shape, pairs_for_shape
from mirrormask.evaluation.own.labelled import LabelledTexts
from mirrormask.evaluation.own.queries import QueryDocuments
from mirrormask.evaluation.vectors import TextVectors

TEXTS = [f"text {number}" for number in range(24)]
VECTORS = np.random.default_rng(0).normal(size=(24, 5)).astype(np.float32)


def sts(name: str, split: str = "test") -> ScoredPairs:
    return ScoredPairs(
        name, split, tuple(TEXTS[:12]), tuple(TEXTS[12:]), np.arange(12) / 2.4, source=f"{name}.jsonl", scale=SCALE
    )


def test_sts_b_is_measured_where_it_is_there() -> None:
    task, on = pairs_for_shape([sts("sts12"), sts("stsb")])
    assert (task.source, on) == ("stsb.jsonl", "STS-B (test)")
    assert pairs_for_shape([sts("sts13"), sts("stsb-dev", "validation")])[1] == "STS-B dev (validation)"
    assert pairs_for_shape([sts("sts13"), sts("sts14")])[1] == "STS13 (test)"


def test_positives_of_sts_are_the_pairs_above_four() -> None:
    task, on = pairs_for_shape([sts("stsb")])
    report = measure_shape(task, on, ["a"], [TextVectors(TEXTS, VECTORS)])
    expected = measure_geometry(VECTORS, (VECTORS[10:12], VECTORS[22:24]))  # scores 4.17 and 4.58
    assert report.measured[0].alignment == pytest.approx(expected.alignment)
    assert report.measured[0].uniformity == pytest.approx(expected.uniformity)
    assert report.positives == "pairs with a score above 4"
    assert report.similarities is not None and report.similarities.shape == (1, 12)
    content = json.loads(json.dumps(report.to_dict()))
    assert content["positive_pairs"] == 2
    assert set(content["models"]) == {"a"}


def test_queries_and_documents_are_positives() -> None:
    task = QueryDocuments("q.csv", TEXTS[:12], TEXTS[12:])
    report = measure_shape(task, "q.csv", ["a"], [TextVectors(TEXTS, VECTORS)])
    assert (report.measured[0].texts, report.measured[0].positives) == (24, 12)
    assert report.similarities is None


def test_labelled_texts_have_no_positives() -> None:
    task = LabelledTexts("l.csv", TEXTS, ["x", "y"] * 12)
    report = measure_shape(task, "l.csv", ["a"], [TextVectors(TEXTS, VECTORS)])
    assert report.measured[0].alignment is None
    assert report.positives == ""
