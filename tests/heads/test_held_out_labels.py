from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.tasks.classified import Classified
from mirrormask.heads.classifier import Classifier
from mirrormask.heads.held_out_labels import HeldOutLabels, LabelledRows

Tiny = Callable[..., Any]


@pytest.fixture
def rows(tiny: Tiny, labelled: Classified) -> LabelledRows:
    return LabelledRows(tiny().tokenizer, labelled.texts, labelled.numbers(["food", "time", "water"]))


def test_scores_are_those_of_the_logits(tiny: Tiny, labelled: Classified, rows: LabelledRows) -> None:
    torch.manual_seed(1)
    classifier = Classifier(tiny(), ["food", "time", "water"])
    logits = torch.from_numpy(classifier.logits(labelled.texts))
    truth = torch.from_numpy(rows.classes)
    for choose_by in ("accuracy", "macro-f1", "loss"):
        score = HeldOutLabels(classifier, rows, max_length=32, choose_by=choose_by)()
        assert score.details["loss"] == pytest.approx(F.cross_entropy(logits, truth).item(), abs=1e-5)
        assert score.details["accuracy"] == pytest.approx((logits.argmax(1) == truth).double().mean().item())
        value = {"accuracy": 100 * score.details["accuracy"], "macro-f1": 100 * score.details["macro_f1"]}
        assert score.value == pytest.approx(value.get(choose_by, -score.details["loss"]))
    with pytest.raises(MirrormaskError, match="'choose_by' of classification must be one of"):
        HeldOutLabels(classifier, rows, max_length=32, choose_by="f1")


def test_the_loss_of_several_labels(tiny: Tiny, labelled: Classified, rows: LabelledRows) -> None:
    classifier = Classifier(tiny(), ["food", "time", "water"], several=True)
    rows.classes = np.eye(3, dtype=np.int64)[rows.classes]
    logits = torch.from_numpy(classifier.logits(labelled.texts))
    expected = F.binary_cross_entropy_with_logits(logits, torch.from_numpy(rows.classes).double())
    judge = HeldOutLabels(classifier, rows, max_length=32)
    assert judge().details["loss"] == pytest.approx(expected.item(), abs=1e-5)
    found = judge.calibrate()
    assert found["threshold"] == classifier.threshold and found["temperature"] == classifier.temperature


def test_calibrating_makes_the_error_smaller(tiny: Tiny, rows: LabelledRows) -> None:
    classifier = Classifier(tiny(), ["food", "time", "water"])
    with torch.no_grad():
        classifier.head[1].get_parameter("weight").mul_(20)  # sure of itself, and wrong as often as before
    found = HeldOutLabels(classifier, rows, max_length=32).calibrate()
    assert found["calibration_error"] < found["calibration_error_before"]
    assert classifier.temperature > 2 and found["rows"] == len(rows)


def test_what_comes_before_is_done_first(tiny: Tiny, rows: LabelledRows) -> None:
    classifier = Classifier(tiny(), ["food", "time", "water"])

    def before() -> None:
        with torch.no_grad():
            classifier.head[1].get_parameter("bias").copy_(torch.tensor([0.0, 0.0, 1e6]))

    found = HeldOutLabels(classifier, rows, max_length=32, before=before)()
    assert found.details["accuracy"] == pytest.approx(float((rows.classes == 2).mean()))
