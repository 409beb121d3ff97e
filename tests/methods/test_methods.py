"""The constants of each method are those of its paper."""

from __future__ import annotations

from typing import cast

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.views.dropout import Dropout


def test_unsupervised_simcse_is_the_papers() -> None:
    built = methods.build("simcse-unsup")
    loss = cast(InfoNCE, built.objective)
    assert (loss.temperature, loss.both_directions, loss.hard_weight, loss.label_smoothing) == (0.05, False, 0.0, 0.0)
    assert all(isinstance(view, Dropout) and view.rate is None for view in built.views)
    assert (built.pooling, built.pairing, built.negatives) == ("cls-mlp", ("self", {}), None)
    assert built.training["batch_size"] == 64
    assert built.training["learning_rate"] == 3e-5
    assert built.training["max_length"] == 32
    assert built.training["epochs"] == 1


def test_supervised_simcse_is_the_papers() -> None:
    built = methods.build("simcse-sup")
    assert cast(InfoNCE, built.objective).temperature == 0.05
    assert (built.pooling, built.pairing) == ("cls-mlp-kept", ("columns", {}))
    assert built.training["batch_size"] == 512
    assert built.training["learning_rate"] == 5e-5
    assert built.training["epochs"] == 3


def test_parameters_reach_the_parts() -> None:
    built = methods.build("simcse-unsup", temperature=0.2, dropout=0.3)
    assert cast(InfoNCE, built.objective).temperature == 0.2
    assert [cast(Dropout, view).rate for view in built.views] == [0.3, 0.3]
    record = built.record()
    assert record["views"][0] == {"type": "Dropout", "rate": 0.3}
    assert record["objective"]["temperature"] == 0.2
    assert cast(InfoNCE, methods.build("simcse-sup", hard_weight=1.5).objective).hard_weight == 1.5


@pytest.mark.parametrize("name", [part.name for part in methods if "temperature" in part.parameters])
def test_temperature_zero_is_refused(name: str) -> None:
    with pytest.raises(MirrormaskError, match="The 'temperature' of info-nce must be above 0. Got 0"):
        methods.build(name, temperature=0)
