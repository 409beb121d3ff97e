from __future__ import annotations

import torch
from torch import nn

from mirrormask.training.averaging import Between


def test_weights_lie_on_the_way_from_start_to_end() -> None:
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    model.bias.requires_grad_(False)
    start, between = model.weight.detach().clone(), Between(model)
    with torch.no_grad():
        model.weight.add_(torch.randn(2, 3))
    end, bias = model.weight.detach().clone(), model.bias.detach().clone()
    between.ended()
    between.go(0.25)
    assert torch.allclose(model.weight, 0.75 * start + 0.25 * end)
    between.go(0.0)
    assert torch.equal(model.weight, start), "the start is the start to the bit"
    between.go(1.0)
    assert torch.allclose(model.weight, end)
    assert torch.equal(model.bias, bias)
    assert model.weight.requires_grad
