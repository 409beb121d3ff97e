"""The constants of each method are those of its paper."""

from __future__ import annotations

from typing import cast

import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.methods import methods
from mirrormask.objectives.info_nce import InfoNCE
from mirrormask.objectives.mirror_nce import MirrorNCE
from mirrormask.training.settings import Settings
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


def test_mirror_bert_is_the_papers() -> None:
    built = methods.build("mirror-bert")
    loss, record = cast(MirrorNCE, built.objective), built.record()
    assert (loss.temperature, loss.both_directions) == (0.04, True)
    assert record["views"][0] == {"type": "Dropout", "rate": None}, "the mask is on one side"
    span = {"type": "CharacterSpanMask", "length": 5, "shortest": 30, "faithful": False}
    assert record["views"][1]["views"] == [span, {"type": "Dropout", "rate": None}]
    assert built.views[0].forward_key == built.views[1].forward_key == "plain", "one forward for both"
    assert (built.pooling, built.pairing) == ("mean", ("self", {}))
    settings = Settings(**built.training)
    assert (settings.batch_size, settings.learning_rate, settings.weight_decay) == (200, 2e-5, 0.01)
    assert (settings.schedule, settings.warmup, settings.clip) == ("constant", 0.0, 0.0)
    assert (settings.epochs, settings.max_length) == (1, 50)


def test_mirror_bert_has_its_named_choices() -> None:
    published = methods.build("mirror-bert", faithful=True)
    assert published.pooling == "mean-padded"
    assert published.record()["views"][1]["views"][0]["faithful"] is True
    tokens = methods.build("mirror-bert", tokens=True, both_directions=False)
    assert tokens.record()["views"][1]["views"][0] == {"type": "SpanMask", "stop": 0.3, "longest": 5}
    assert cast(MirrorNCE, tokens.objective).both_directions is False
    heads = methods.build("mirror-bert", drop_head=0.2)
    assert heads.record()["views"][0]["views"] == [{"type": "DropHead", "rate": 0.2}, {"type": "Dropout", "rate": 0.0}]
    assert heads.views[0].forward_key == heads.views[1].forward_key, "one forward for both"


def test_mirror_bert_for_words_masks_nothing() -> None:
    built = methods.build("mirror-bert-words")
    assert cast(MirrorNCE, built.objective).temperature == 0.2
    assert [view["type"] for view in built.record()["views"]] == ["Dropout", "Dropout"]
    assert (built.pooling, built.training["max_length"], built.training["epochs"]) == ("cls", 25, 2)


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
    with pytest.raises(MirrormaskError, match="The 'temperature' of [a-z-]+ must be above 0. Got 0"):
        methods.build(name, temperature=0)
