from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial import distance

from mirrormask.probing.measures import MEASURES, cosine, cosine_similarity, euclidean, probability


def test_distances_are_scipys() -> None:
    one, other = torch.randn(2, 6, 5, generator=torch.Generator().manual_seed(1))
    for a, b, e, c in zip(one, other, euclidean(one, other), cosine(one, other), strict=True):
        assert float(e) == pytest.approx(distance.euclidean(a.numpy(), b.numpy()), rel=1e-5)
        assert float(c) == pytest.approx(distance.cosine(a.numpy(), b.numpy()), rel=1e-5)
    torch.testing.assert_close(cosine_similarity(one, other), 1 - cosine(one, other))


def test_what_a_state_and_itself_give() -> None:
    states = torch.randn(4, 3, generator=torch.Generator().manual_seed(2))
    for measure in MEASURES.values():
        np.testing.assert_allclose(measure.compare(states, states), measure.same, atol=1e-6)


def test_probability_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(3)
    weights = torch.randn(5, 11, generator=generator)
    states, tokens = torch.randn(7, 5, generator=generator), torch.tensor([0, 3, 10, 2, 2, 5, 9])
    monkeypatch.setattr("mirrormask.probing.measures._HEAD_ROWS", 3)
    found = probability(lambda x: x @ weights, states, tokens)
    assert found.shape == (7, 1)
    for state, token, chance in zip(states, tokens, found, strict=True):
        scores = (state @ weights).numpy()
        assert float(chance) == pytest.approx(np.exp(scores[token]) / np.exp(scores).sum(), rel=1e-5)
