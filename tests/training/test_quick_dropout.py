from __future__ import annotations

import pytest
import torch
from torch import nn

from mirrormask.training.quick_dropout import QuickDropout, quick_dropout, quickened


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_it_drops_a_share_and_keeps_the_mean(rate: float) -> None:
    torch.manual_seed(0)
    x = torch.ones(400, 501)  # an odd number: the last draw is not used whole
    found = quick_dropout(x, rate)
    kept = found[found != 0]
    torch.testing.assert_close(kept, torch.full_like(kept, 1 / (1 - rate)))
    assert (found == 0).float().mean().item() == pytest.approx(rate, abs=0.005)
    assert found.mean().item() == pytest.approx(1.0, abs=0.02)
    rows, columns = (found == 0).float().mean(1), (found == 0).float().mean(0)
    for part in (rows, columns):  # no row or column is favored
        assert part.std().item() == pytest.approx((rate * (1 - rate) / (501 if part is rows else 400)) ** 0.5, rel=0.2)


def test_neighbors_are_independent() -> None:
    """Four elements share one draw; knowing one must tell nothing about the next."""
    torch.manual_seed(1)
    dropped = (quick_dropout(torch.ones(400_000), 0.3) == 0).float().view(-1, 4)
    correlation = torch.corrcoef(dropped.T)
    assert (correlation - torch.eye(4)).abs().max() < 0.01


def test_seeds_gradients_and_edges() -> None:
    x = torch.randn(7, 3, requires_grad=True)
    found = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        found.append(quick_dropout(x, 0.5))
    assert torch.equal(found[0], found[1])
    assert not torch.equal(found[0], found[2])
    (gradient,) = torch.autograd.grad(found[0].sum(), x)
    torch.testing.assert_close(gradient, torch.where(found[0] == 0, 0.0, 2.0))
    assert quick_dropout(x, 0.0) is x
    half = x.detach().bfloat16()
    assert quick_dropout(half, 0.5).dtype == torch.bfloat16
    assert quick_dropout(torch.empty(0, 3), 0.5).shape == (0, 3)


def test_layers_are_quick_inside_only() -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.4), nn.Sequential(nn.Dropout(0.1)))
    with quickened(model):
        assert [type(model[1]), type(model[2][0])] == [QuickDropout, QuickDropout]  # type: ignore[index]
        assert model[1].p == 0.4
        model.eval()
        x = torch.ones(5, 3)
        assert torch.equal(model[1](x), x), "nothing is dropped outside of training"
    assert [type(model[1]), type(model[2][0])] == [nn.Dropout, nn.Dropout]  # type: ignore[index]
    with pytest.raises(KeyError), quickened(model):
        raise KeyError
    assert type(model[1]) is nn.Dropout
