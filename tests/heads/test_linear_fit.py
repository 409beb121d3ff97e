from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from mirrormask.core.similarity import unit_rows
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.linear_fit import STRENGTH, fit_linear

Tiny = Callable[..., Any]


def data(classes: int, rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = random.integers(0, classes, rows)
    return random.normal(size=(rows, 32)) + 4 * np.eye(classes, 32)[labels], labels


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("unit", [False, True])
def test_the_head_is_scikit_learns(tiny: Tiny, classes: int, unit: bool) -> None:
    vectors, labels = data(classes)
    made = Classifier(tiny(), [str(each) for each in range(classes)], unit=unit)
    fit_linear(made, vectors, labels)
    rows = unit_rows(vectors) if unit else vectors
    rows = rows / np.sqrt((rows**2).sum(axis=1).mean())
    model = LogisticRegression(C=STRENGTH, max_iter=1000).fit(rows, labels)
    assert np.allclose(made.calibrated(made.logits_from(vectors)), model.predict_proba(rows), atol=1e-4)


def test_a_class_that_is_not_there_is_never_chosen(tiny: Tiny) -> None:
    vectors, labels = data(3)
    for kept in ([0, 2], [0, 1]):
        there = np.isin(labels, kept)
        made = Classifier(tiny(), ["a", "b", "c"])
        fit_linear(made, vectors[there], labels[there])
        assert set(made.logits_from(vectors).argmax(axis=1).tolist()) == set(kept)


def test_several_labels_are_fitted_one_by_one(tiny: Tiny) -> None:
    vectors, labels = data(3)
    hot = np.eye(3, dtype=np.int64)[labels]
    hot[:, 2] = 0
    made = Classifier(tiny(), ["a", "b", "c"], several=True)
    fit_linear(made, vectors, hot, balanced=True)
    chances = made.calibrated(made.logits_from(vectors))
    assert ((chances[:, :2] > 0.5) == (hot[:, :2] > 0)).mean() > 0.9
    assert chances[:, 2].max() < 1e-6
