from __future__ import annotations

import pytest
import torch

from mirrormask.models.hiding import hide


def test_shares_are_those_of_bert_and_nothing_else_changes() -> None:
    ids = torch.full((400, 500), 9)
    chosen = torch.rand(ids.shape, generator=torch.Generator().manual_seed(1)) < 0.15
    ordinary, chance = torch.arange(10, 20), torch.Generator().manual_seed(0)
    shown = hide(ids, chosen, mask_id=4, ordinary=ordinary, chance=chance)
    at = shown[chosen]
    assert (at == 4).float().mean().item() == pytest.approx(0.8, abs=0.01)
    assert (at >= 10).float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert (at == 9).float().mean().item() == pytest.approx(0.1, abs=0.01)
    assert set(at[at >= 10].tolist()) == set(range(10, 20))
    assert (shown[~chosen] == 9).all()


def test_the_same_chance_hides_the_same() -> None:
    ids, chosen = torch.arange(100), torch.ones(100, dtype=torch.bool)
    one, two, other = (
        hide(ids, chosen, mask_id=0, ordinary=ids, chance=torch.Generator().manual_seed(seed)) for seed in (1, 1, 2)
    )
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
