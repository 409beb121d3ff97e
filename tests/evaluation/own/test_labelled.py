from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from mirrormask.core.errors import DataError
from mirrormask.evaluation.own import labelled as module
from mirrormask.evaluation.own.labelled import LabelledTexts, knn_predictions, linear_predictions
from mirrormask.evaluation.statistics.bootstrap import on_all
from mirrormask.evaluation.vectors import TextVectors


@pytest.fixture
def data() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    random = np.random.default_rng(0)
    labels = np.arange(60) % 2
    return (random.normal(size=(60, 5)) + 0.8 * labels[:, None]).astype(np.float32), labels


@pytest.mark.parametrize("block", [1, 200, 1 << 20])
def test_knn_is_scikit_learns_leave_one_out(
    data: tuple[NDArray[np.float32], NDArray[np.int64]], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_BLOCK", block)
    peer = KNeighborsClassifier(n_neighbors=5, metric="cosine")  # two classes and five votes: never a draw
    np.testing.assert_array_equal(knn_predictions(*data), cross_val_predict(peer, *data, cv=LeaveOneOut()))


def test_nearer_neighbors_decide_a_draw_and_never_outvote() -> None:
    angles = np.radians([0, 5, 6, 20, 21, 60])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    draw = np.array([0, 1, 1, 2, 2, 0])
    assert knn_predictions(vectors, draw, neighbors=4)[0] == 1
    assert knn_predictions(vectors, np.array([0, 1, 2, 2, 0, 0]), neighbors=3)[0] == 2


def test_linear_is_trained_on_the_other_folds_only(data: tuple[NDArray[np.float32], NDArray[np.int64]]) -> None:
    vectors, labels = data
    predicted = linear_predictions(vectors, labels, seed=1)
    assert 0.6 < (predicted == labels).mean() < 1.0
    np.testing.assert_array_equal(predicted, linear_predictions(vectors, labels, seed=1))
    noise = np.random.default_rng(0).normal(size=(60, 80))  # wider than long: a classifier that saw the text would win
    assert (linear_predictions(noise, labels) == labels).mean() < 0.75
    scaled = StandardScaler().fit_transform(noise)
    assert LogisticRegression().fit(scaled, labels).score(scaled, labels) == 1.0


def test_accuracy_and_f1_of_both_classifiers() -> None:
    texts = [f"text {row}" for row in range(40)]
    names = ["warm" if row % 4 else "cold" for row in range(40)]
    task = LabelledTexts("moods.csv", texts, names)
    vectors = np.array([[1.0, 0.1] if name == "warm" else [0.1, 1.0] for name in names], dtype=np.float32)
    found = task.statistics(TextVectors(texts, vectors), seed=0)
    assert set(found) == {f"{name}_{what}_percent" for name in ("knn", "linear") for what in ("accuracy", "macro_f1")}
    assert all(on_all(statistic, 40) == 1.0 for statistic in found.values())
    assert task.positives(TextVectors(texts, vectors)) is None


def test_repeats_mixed_labels_and_single_texts_are_left_out_and_said() -> None:
    texts = [f"text {row}" for row in range(20)]
    names = ["a", "b"] * 10
    task = LabelledTexts("x.csv", [*texts, "text 0", "odd", "odd", "lonely"], [*names, "a", "a", "b", "c"])
    assert task.classes == ["a", "b"]
    assert task.units == 20
    assert task.notes == (
        "2 rows with a text of another row left out",
        "1 text with two labels left out",
        "labels with a single text are left out: 'c'",
    )


def test_a_rare_label_does_not_stop_the_folds() -> None:
    random = np.random.default_rng(0)
    labels = np.array([0] * 20 + [1] * 20 + [2] * 2)
    assert len(linear_predictions(random.normal(size=(42, 4)), labels)) == 42
    assert len(linear_predictions(random.normal(size=(12, 4)), np.repeat(np.arange(6), 2))) == 12


def test_one_class_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"All rows of x.csv have the same label 'a'. Give texts of at least two classes"
    ):
        LabelledTexts("x.csv", [str(row) for row in range(20)], ["a"] * 20)


def test_labels_that_never_repeat_are_refused() -> None:
    with pytest.raises(DataError, match="has 0 texts"):
        LabelledTexts("x.csv", [str(row) for row in range(20)], [str(row) for row in range(20)])
