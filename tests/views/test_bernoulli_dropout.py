from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.bernoulli_dropout import BernoulliDropout, drop_elements


def test_every_element_is_zero_or_scaled_up() -> None:
    torch.manual_seed(0)
    x = torch.randn(20, 30, 40)
    seen = drop_elements(x, 0.1)
    for i in range(20):
        for value, old in zip(seen[i].flatten().tolist(), x[i].flatten().tolist(), strict=True):
            assert value == 0 or value == pytest.approx(old / 0.9, rel=1e-5)
    assert (seen == 0).float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert not (seen == 0).all(dim=2).any(), "single elements go, not whole tokens"


def test_it_drops_whatever_mode_the_encoder_is_in() -> None:
    view = BernoulliDropout(0.5).eval()
    assert (view.words(torch.ones(4, 5, 6), torch.ones(4, 5)) == 0).any()


def test_the_gradient_is_the_mask() -> None:
    x = torch.ones(2, 3, 4, requires_grad=True)
    seen = BernoulliDropout(0.5).words(x, torch.ones(2, 3))
    seen.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(x.grad, seen.detach())  # type: ignore[arg-type]


@pytest.mark.parametrize("rate", [-0.1, 1.0])
def test_a_rate_that_cannot_be(rate: float) -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of bernoulli-dropout must be at least 0 and below 1. Got"):
        BernoulliDropout(rate)
