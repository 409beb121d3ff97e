from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from mirrormask.evaluation.logistic import Regressions


def made(n: int, d: int, classes: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return vectors with a large mean and axes of very different length, and classes that they half tell."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(n, d)) * np.geomspace(3, 0.03, d) @ np.linalg.qr(random.normal(size=(d, d)))[0]
    scores = x @ random.normal(size=(d, classes)) * 2 + random.gumbel(size=(n, classes))
    return (x + 5).astype(np.float32), scores.argmax(axis=1)


@pytest.mark.parametrize("classes", [2, 4])
def test_every_fit_is_that_of_scikit_learn(classes: int) -> None:
    x, y = made(300, 12, classes, seed=classes)
    random = np.random.default_rng(0)
    seen = random.random((300, 6)) < 0.8
    penalties = np.array([1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e-3])
    found = Regressions(x, y).fit(seen, penalties)
    for fit, penalty in enumerate(penalties):
        rows = seen[:, fit]
        alone = LogisticRegression(C=1 / (penalty * rows.sum()), tol=1e-8, max_iter=1000, solver="newton-cholesky")
        alone.fit(x[rows].astype(np.float64), y[rows])
        scores = found.scores[:, fit].double()
        if classes == 2:
            expected = torch.from_numpy(alone.decision_function(x))
            chance, wanted = torch.sigmoid(scores[:, 0]), torch.sigmoid(expected)
        else:
            chance, wanted = scores.softmax(-1), torch.from_numpy(alone.predict_proba(x.astype(np.float64)))
        assert (chance - wanted).abs().max() < 0.02
        assert (found.predicted()[:, fit] == alone.predict(x)).mean() > 0.99


def test_a_fit_does_not_depend_on_those_beside_it() -> None:
    x, y = made(200, 8, 2, seed=5)
    seen = np.random.default_rng(1).random((200, 3)) < 0.7
    penalties = np.array([1e-4, 1e-2, 1e-3])
    together = Regressions(x, y).fit(seen, penalties)
    alone = Regressions(x, y).fit(seen[:, 1:2], penalties[1:2])
    assert torch.allclose(together.scores[:, 1], alone.scores[:, 0], atol=0.02)


def test_rows_that_are_not_seen_do_not_matter() -> None:
    x, y = made(200, 8, 2, seed=6)
    seen = np.ones((200, 1), dtype=np.bool_)
    seen[150:] = False
    before = Regressions(x, y).fit(seen, np.array([1e-3])).scores[:150]
    flipped = y.copy()
    flipped[150:] = 1 - flipped[150:]
    after = Regressions(x, flipped).fit(seen, np.array([1e-3])).scores[:150]
    assert torch.equal(before, after)


def test_vectors_that_are_all_one_fall_back_on_the_most_frequent_class() -> None:
    y = np.array([0] * 30 + [1] * 10)
    found = Regressions(np.ones((40, 3)), y).fit(np.ones((40, 1), dtype=np.bool_), np.array([1e-4]))
    assert found.predicted().ravel().tolist() == [0] * 40
