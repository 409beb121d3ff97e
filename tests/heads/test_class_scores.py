from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from mirrormask.heads.class_scores import entropy_bits, scores_of


def test_they_are_scikit_learns() -> None:
    random = np.random.default_rng(0)
    chances = random.dirichlet(np.ones(4), size=300)
    labels = np.where(random.random(300) < 0.5, chances.argmax(axis=1), random.integers(0, 4, 300))
    chosen = chances.argmax(axis=1)
    found = scores_of(labels, chosen, chances, ["a", "b", "c", "d"], chances)
    assert found["accuracy_percent"] == pytest.approx(100 * accuracy_score(labels, chosen))
    assert found["macro_f1_percent"] == pytest.approx(100 * f1_score(labels, chosen, average="macro"))
    assert found["weighted_f1_percent"] == pytest.approx(100 * f1_score(labels, chosen, average="weighted"))
    assert found["confusion"] == confusion_matrix(labels, chosen).tolist()
    assert found["calibration_error_before"] == found["calibration_error"]
    pair = found["most_confused"][0]
    matrix = np.array(found["confusion"])
    both = np.triu(matrix + matrix.T, 1)
    assert pair["one_as_other"] + pair["other_as_one"] == both.max()


def test_several_labels_are_scikit_learns() -> None:
    random = np.random.default_rng(1)
    labels, chosen = (random.integers(0, 2, (80, 3)) for _ in range(2))
    found = scores_of(labels, chosen, chosen.astype(float), ["a", "b", "c"])
    assert found["accuracy_percent"] == pytest.approx(100 * accuracy_score(labels, chosen))
    for kind in ("macro", "micro", "weighted"):
        expected = 100 * f1_score(labels, chosen, average=kind, zero_division=0)
        assert found[f"{kind}_f1_percent"] == pytest.approx(expected)
    assert "confusion" not in found


def test_classes_without_rows_do_not_count_against_macro_f1() -> None:
    labels, chosen = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2])
    found = scores_of(labels, chosen, np.eye(3)[chosen], ["a", "b", "c"])
    assert found["macro_f1_percent"] == pytest.approx(100 * (1 + 2 / 3) / 2)


def test_nothing_wrong_and_nothing_right() -> None:
    labels = np.array([0, 1])
    right = scores_of(labels, labels, np.eye(2), ["a", "b"])
    wrong = scores_of(labels, 1 - labels, np.eye(2)[::-1], ["a", "b"])
    assert right["entropy_bits_when_wrong"] is None and wrong["entropy_bits_when_right"] is None
    assert right["most_confused"] == []


def test_entropy_is_in_bits() -> None:
    assert entropy_bits(np.full((1, 8), 1 / 8)).tolist() == pytest.approx([3.0])
    assert entropy_bits(np.array([[0.5, 1.0]]), several=True).tolist() == pytest.approx([0.5])
