"""Views with an encoder of their own: twin, momentum, layer-sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from mirrormask.core.batch import Batch
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.info_nce import info_nce
from mirrormask.training.method import Method
from mirrormask.views.layer_sample import LayerSample, sample_layers
from mirrormask.views.momentum import Momentum
from mirrormask.views.twin import Twin


def vectors(encoder: Any, batch: Batch) -> Tensor:
    ids, mask = batch.columns[0].padded(0, range(len(batch)))
    found: Tensor = encoder({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
    return found


def test_a_twin_sees_the_positive_and_both_learn(method: Callable[..., Method], batch: Batch) -> None:
    trained = method(["dropout", "twin"])
    twin = cast(Twin, trained.views[1])
    with torch.no_grad():
        for weight in twin.encoder.parameters():
            weight.add_(0.05 * torch.randn_like(weight))
    loss = trained(batch, 0)
    expected = info_nce(vectors(trained.encoder, batch), vectors(twin.encoder, batch), temperature=0.05)
    torch.testing.assert_close(loss, expected, atol=1e-4, rtol=1e-4)
    loss.backward()
    for encoder in (trained.encoder, twin.encoder):
        assert sum(p.grad is not None and bool(p.grad.abs().sum() > 0) for p in encoder.parameters()) > 20


def test_a_twin_has_weights_of_its_own_in_optimizer_and_checkpoint(method: Callable[..., Method]) -> None:
    plain, trained = method(["dropout", "dropout"]), method(["dropout", "twin"], head=nn.Linear(32, 32))
    count = len(list(plain.parameters()))
    assert len(list(trained.parameters())) == 2 * count + 4, "two encoders, two heads"
    assert len([name for name in trained.state_dict() if name.startswith("views.1.")]) > count


def test_a_momentum_encoder_follows_by_its_formula(method: Callable[..., Method], batch: Batch) -> None:
    trained = method(["dropout", {"name": "momentum", "momentum": 0.9}], head=nn.Linear(32, 32))
    slow = cast(Momentum, trained.views[1])
    pairs = [(slow.encoder, trained.encoder), (slow.head, trained.head)]
    before = [[p.detach().clone() for p in one.parameters()] for one, _ in pairs]
    with torch.no_grad():
        for _, fast in pairs:
            for weight in fast.parameters():
                weight.add_(torch.randn_like(weight))
    for _ in range(3):
        trained.observe()
    for (one, fast), old in zip(pairs, before, strict=True):
        for found, target, start in zip(one.parameters(), fast.parameters(), old, strict=True):
            torch.testing.assert_close(found, 0.9**3 * start + (1 - 0.9**3) * target, atol=1e-5, rtol=1e-4)


def test_a_momentum_encoder_takes_no_gradient(method: Callable[..., Method], batch: Batch) -> None:
    trained = method(["dropout", "momentum"], head=nn.Linear(32, 32))
    trained(batch, 0).backward()
    slow = cast(Momentum, trained.views[1])
    assert all(p.grad is None and not p.requires_grad for p in slow.parameters())
    assert sum(p.grad is not None for p in trained.encoder.parameters()) > 20
    assert trained.head is not None
    assert all(p.grad is not None for p in trained.head.parameters()), "the anchor's head learns"


def test_dropout_of_the_momentum_encoder_can_be_off(method: Callable[..., Method], batch: Batch) -> None:
    for dropout in (True, False):
        trained = method(["dropout", {"name": "momentum", "dropout": dropout}], dropout=0.3)
        view = cast(Momentum, trained.views[1])
        with view.forward_with(view.encoder):
            one, two = vectors(view.encoder, batch), vectors(view.encoder, batch)
        assert torch.equal(one, two) is not dropout
        assert view.encoder.training, "the mode is put back"


@pytest.mark.parametrize("pool", ["max", "mean"])
def test_sampled_layers_equal_the_loop(pool: str) -> None:
    layers = torch.randn(3, 4, 5, 6)
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0, 0]])
    chosen = torch.tensor([2, 0, 1, 2])
    found = sample_layers(layers, mask, chosen, pool)
    for i in range(4):
        real = layers[chosen[i], i, : int(mask[i].sum())]
        torch.testing.assert_close(found[i], real.max(dim=0).values if pool == "max" else real.mean(dim=0))


def test_layers_are_drawn_for_every_row_from_a_frozen_copy(method: Callable[..., Method], batch: Batch) -> None:
    trained = method(["dropout", "layer-sample"])
    view = cast(LayerSample, trained.views[1])
    assert view.frozen is not None
    ids, mask = batch.columns[0].padded(0, range(len(batch)))
    with torch.no_grad():
        run = view.frozen[0].model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
        every = [sample_layers(torch.stack(run.hidden_states), mask, torch.full((8,), k), "max") for k in range(4)]
        for weight in trained.encoder.parameters():
            weight.mul_(0.5)  # what training does to the encoder, the copy does not see
    seen: list[list[int]] = []
    for seed in range(20):
        torch.manual_seed(seed)
        with view.forward_with(view.frozen):
            found = view.frozen({"input_ids": ids, "attention_mask": mask})["sentence_embedding"]
        seen.append([next(k for k in range(4) if torch.allclose(found[i], every[k][i], atol=1e-5)) for i in range(8)])
    assert {k for row in seen for k in row} == {0, 1, 2, 3}
    assert any(len(set(row)) > 1 for row in seen), "rows have layers of their own"
    trained(batch, 0).backward()
    assert all(p.grad is None for p in view.parameters())


def test_what_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'momentum' of momentum must be at least 0 and below 1. Got 1"):
        Momentum(1.0)
    with pytest.raises(MirrormaskError, match="The 'pool' of layer-sample must be one of max, mean. Got 'sum'"):
        LayerSample("sum")
