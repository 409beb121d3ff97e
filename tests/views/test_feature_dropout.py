from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.feature_dropout import FeatureDropout, drop_features


def test_a_dimension_goes_in_all_tokens_of_a_row() -> None:
    torch.manual_seed(0)
    x = torch.randn(50, 7, 40)
    seen = drop_features(x, 0.1)
    for i in range(50):
        for j in range(40):
            column = seen[i, :, j]
            assert (column == 0).all() or torch.allclose(column, x[i, :, j] / 0.9)
    gone = (seen == 0).all(dim=1)  # (n, d)
    assert gone.float().mean().item() == pytest.approx(0.1, abs=0.02)
    assert len({tuple(row.tolist()) for row in gone}) > 25, "other dimensions for other sentences"


def test_the_gradient_is_the_mask() -> None:
    x = torch.ones(3, 2, 8, requires_grad=True)
    seen = FeatureDropout(0.5).words(x, torch.ones(3, 2))
    seen.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(x.grad, seen.detach())  # type: ignore[arg-type]


def test_a_rate_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of feature-dropout must be at least 0 and below 1. Got 1"):
        FeatureDropout(1.0)
