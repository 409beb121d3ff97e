"""ConSERT's two cutoffs, `token-cutoff` and `feature-cutoff`."""

from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.feature_cutoff import FeatureCutoff, cut_features
from mirrormask.views.token_cutoff import TokenCutoff, cut_tokens


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.5, 0.9])
def test_an_exact_number_of_real_tokens_goes(rate: float) -> None:
    torch.manual_seed(0)
    lengths = [1, 4, 7, 13, 20]
    mask = torch.tensor([[int(t < length) for t in range(20)] for length in lengths])
    x = torch.rand(5, 20, 8) + 1
    seen = cut_tokens(x, mask, rate)
    for i, length in enumerate(lengths):
        gone = [t for t in range(20) if (seen[i, t] == 0).all()]
        assert len(gone) == int(rate * length)
        assert all(t < length for t in gone), "padding is not counted as cut"
        assert all(torch.equal(seen[i, t], x[i, t]) for t in range(20) if t not in gone)


def test_every_token_is_cut_as_often() -> None:
    torch.manual_seed(0)
    seen = cut_tokens(torch.ones(4000, 10, 1), torch.ones(4000, 10), 0.2)
    torch.testing.assert_close((seen[..., 0] == 0).float().mean(dim=0), torch.full((10,), 0.2), atol=0.03, rtol=0)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.33])
def test_an_exact_number_of_dimensions_goes_in_all_tokens(rate: float) -> None:
    torch.manual_seed(0)
    x = torch.rand(30, 5, 16) + 1
    seen = cut_features(x, rate)
    for i in range(30):
        gone = [j for j in range(16) if (seen[i, :, j] == 0).all()]
        assert len(gone) == int(rate * 16)
        assert all(torch.equal(seen[i, :, j], x[i, :, j]) for j in range(16) if j not in gone)
    assert rate == 0 or len({tuple((seen[i, 0] == 0).tolist()) for i in range(30)}) > 10


def test_gradients_reach_what_stays() -> None:
    for view in (TokenCutoff(0.5), FeatureCutoff(0.5)):
        x = torch.ones(2, 6, 8, requires_grad=True)
        seen = view.embeddings(x, torch.ones(2, 6))
        seen.sum().backward()  # type: ignore[no-untyped-call]
        assert torch.equal(x.grad, seen.detach())  # type: ignore[arg-type]


def test_rates_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of token-cutoff must be at least 0 and below 1. Got 1"):
        TokenCutoff(1.0)
    with pytest.raises(MirrormaskError, match="The 'rate' of feature-cutoff must be at least 0 and below 1. Got -1"):
        FeatureCutoff(-1.0)
