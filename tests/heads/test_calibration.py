from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, log_softmax, softmax

from mirrormask.heads.calibration import calibration_error, fit_temperature, fit_threshold, probabilities_of


def drawn(scale: float, *, seed: int = 0, rows: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    """Return logits and labels drawn from their softmax, the logits then scaled."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(rows, 4))
    labels = np.array([random.choice(4, p=row) for row in softmax(logits, axis=1)])
    return scale * logits, labels


@pytest.mark.parametrize("scale", [0.3, 1.0, 5.0])
def test_the_temperature_undoes_a_scale(scale: float) -> None:
    logits, labels = drawn(scale)
    temperature = fit_temperature(logits, labels)
    assert temperature == pytest.approx(scale, rel=0.12)
    before = calibration_error(probabilities_of(logits), labels)
    after = calibration_error(probabilities_of(logits, temperature=temperature), labels)
    assert after < 0.03 and (scale == 1.0 or after < before / 2)


def test_the_temperature_has_the_smallest_loss() -> None:
    logits, labels = drawn(3.0, rows=300)
    temperature = fit_temperature(logits, labels)

    def loss(value: float) -> float:
        return float(-log_softmax(logits / value, axis=1)[np.arange(len(labels)), labels].mean())

    assert loss(temperature) <= min(loss(temperature * 1.1), loss(temperature / 1.1))


def test_probabilities_are_scipys() -> None:
    logits = np.array([[900.0, -900.0, 0.0], [0.1, 0.2, -0.3]])
    assert np.allclose(probabilities_of(logits, temperature=2.0), softmax(logits / 2, axis=1))
    assert np.allclose(probabilities_of(logits, several=True), expit(logits))


def test_the_error_is_that_of_a_loop() -> None:
    logits, labels = drawn(2.0, rows=500)
    chances = probabilities_of(logits)
    confidence, right = chances.max(axis=1), chances.argmax(axis=1) == labels
    total = 0.0
    for place in range(15):
        inside = (confidence >= place / 15) & (confidence < (place + 1) / 15)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert calibration_error(chances, labels) == pytest.approx(total, abs=1e-12)


def test_several_labels_have_a_threshold() -> None:
    labels = np.array([[1, 0], [1, 0], [0, 1], [0, 0]])
    chances = np.array([[0.4, 0.1], [0.35, 0.2], [0.1, 0.45], [0.2, 0.1]])
    assert 0.2 < fit_threshold(chances, labels) <= 0.35
    assert fit_threshold(labels.astype(float), labels) == 0.5, "of equals the one nearest to one half"
    assert calibration_error(labels.astype(float), labels) == 0
