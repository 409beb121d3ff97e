from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.models.encoder import build_encoder
from mirrormask.views import drop_head
from mirrormask.views.drop_head import DropHead, drop_heads
from mirrormask.views.dropout import Dropout


def test_equals_the_loop() -> None:
    x = torch.randn(6, 3, 8)  # 4 heads, 2 wide
    torch.manual_seed(1)
    found = drop_heads(x, 4, 0.5)
    torch.manual_seed(1)
    keep = torch.rand(6, 4) >= 0.5
    for i in range(6):
        kept = int(keep[i].sum())
        for h in range(4):
            scale = 1.0 if kept == 0 else float(keep[i, h]) * 4 / kept
            torch.testing.assert_close(found[i, :, 2 * h : 2 * h + 2], x[i, :, 2 * h : 2 * h + 2] * scale)


def test_all_heads_dropped_is_none_dropped() -> None:
    x = torch.randn(50, 2, 4)
    seen = drop_heads(x, 2, 0.999)
    assert torch.isfinite(seen).all()
    assert (seen != 0).flatten(1).any(dim=1).all()


def test_the_mean_over_draws_is_the_input() -> None:
    torch.manual_seed(0)
    x = torch.ones(20_000, 1, 8)
    torch.testing.assert_close(drop_heads(x, 4, 0.2).mean(dim=0), torch.ones(1, 8), atol=0.03, rtol=0)


@pytest.mark.parametrize("kind", ["bert", "roberta", "distilbert", "modernbert"])
def test_heads_drop_in_every_layer_of_every_architecture(kind: str, tiny_of_kind: Callable[[str], Path]) -> None:
    encoder = build_encoder(tiny_of_kind(kind), pooling="mean", device="cpu").eval()
    features = encoder.preprocess(["a quiet child finds some bread", "the gray cat"])

    def run() -> Any:
        return encoder(dict(features))["sentence_embedding"]

    plain = run()
    torch.manual_seed(0)
    with DropHead(0.5).forward_with(encoder):
        dropped = run()
        layers = [m for m in encoder.modules() if m._forward_pre_hooks]
    assert len(layers) == 3
    assert not torch.allclose(plain, dropped)
    torch.testing.assert_close(run(), plain)
    with DropHead(0.0).forward_with(encoder):
        torch.testing.assert_close(run(), plain)


def test_it_takes_the_place_of_dropout(tiny: Callable[..., Any]) -> None:
    """As in Mirror-BERT: with dropout off, heads alone make two views differ."""
    encoder = tiny(pooling="mean").train()
    features = encoder.preprocess(["a quiet child finds some bread"])
    with Dropout(0.0).forward_with(encoder), DropHead(0.5).forward_with(encoder):
        found = [encoder(dict(features))["sentence_embedding"] for _ in range(4)]
    assert not all(torch.allclose(found[0], other) for other in found[1:])


def test_an_unknown_architecture_is_refused(tiny: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop_head, "MIXING", ("nowhere",))
    with (
        pytest.raises(MirrormaskError, match="does not know where this model mixes its attention heads"),
        DropHead().forward_with(tiny()),
    ):
        pass


def test_a_rate_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of drop-head must be at least 0 and below 1. Got 1"):
        DropHead(1.0)
