from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.encoder import build_encoder
from mirrormask.views.dropout import Dropout


def rates(encoder: Any) -> list[float]:
    return [layer.p for layer in encoder.modules() if isinstance(layer, nn.Dropout)]


def test_a_rate_holds_inside_and_is_put_back(tiny: Callable[..., Any]) -> None:
    encoder = tiny()
    before = rates(encoder)
    assert set(before) == {0.1}
    with Dropout(rate=0.3).forward_with(encoder):
        assert set(rates(encoder)) == {0.3}
    assert rates(encoder) == before
    with Dropout().forward_with(encoder):
        assert rates(encoder) == before


def test_rate_zero_leaves_one_view(tiny: Callable[..., Any]) -> None:
    """Without dropout, and in training mode, a sentence is seen the same way every time."""
    encoder = tiny(pooling="mean").train()
    features = encoder.preprocess(["a quiet child finds some bread"])
    found = []
    for rate in (0.0, 0.0, 0.5):
        with Dropout(rate=rate).forward_with(encoder):
            found.append(encoder(dict(features))["sentence_embedding"])
    attention = encoder[0].model.config.attention_probs_dropout_prob
    assert attention == 0.1
    torch.testing.assert_close(found[0], found[1], atol=1e-6, rtol=0)
    assert not torch.allclose(found[0], found[2])


def test_a_rate_reaches_attention_that_has_no_layer_for_it(tiny_of_kind: Callable[[str], Path]) -> None:
    """ModernBERT has no dropout of its own, and for attention only a number."""
    encoder = build_encoder(tiny_of_kind("modernbert"), pooling="mean", device="cpu").train()
    features = encoder.preprocess(["a quiet child finds some bread"] * 2)
    attention = encoder[0].model.layers[0].attn
    for rate, same in ((None, True), (0.1, False)):
        with Dropout(rate).forward_with(encoder):
            assert attention.attention_dropout == (rate or 0.0)
            one, two = encoder(dict(features))["sentence_embedding"]
        assert torch.allclose(one, two, atol=1e-6) is same
    assert attention.attention_dropout == 0.0
    assert set(rates(encoder)) == {0.0}


def test_a_model_without_dropout_takes_no_rate() -> None:
    Dropout().attach(nn.Linear(2, 2), None)
    Dropout(0.0).attach(nn.Linear(2, 2), None)
    with pytest.raises(MirrormaskError, match="this model has no dropout to set it on"):
        Dropout(0.1).attach(nn.Linear(2, 2), None)


def test_views_of_one_rate_share_a_forward() -> None:
    assert Dropout().forward_key == Dropout().forward_key == "plain"
    assert Dropout(0.2).forward_key == Dropout(0.2).forward_key != Dropout(0.3).forward_key


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_rate_that_cannot_be(rate: float) -> None:
    with pytest.raises(MirrormaskError, match="'rate' of dropout"):
        Dropout(rate)
