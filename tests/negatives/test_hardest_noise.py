from __future__ import annotations

import math

import pytest
import torch

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.gaussian import gaussian_noise
from mirrormask.negatives.hardest_noise import HardestNoise, hardest, hardness
from mirrormask.objectives.info_nce import InfoNCE


def anchors(n: int = 6, d: int = 8) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(1), dtype=torch.float64) + 1


def test_hardness_against_a_loop() -> None:
    anchor, noise = anchors(), anchors(4) * torch.tensor([1.0, -1, 2, 0.5, 1, -2, 1, 1], dtype=torch.float64)
    found = hardness(noise, anchor, 0.2)
    for x, value in zip(noise, found, strict=True):
        total = sum(math.exp(torch.cosine_similarity(x, a, dim=0).item() / 0.2) for a in anchor)
        assert abs(value.item() - math.log(total)) < 1e-10


def test_the_hardest_of_the_pool_are_kept_in_order() -> None:
    anchor = anchors()
    torch.manual_seed(3)
    found = HardestNoise(multiple=0.5, pool=20).draw(Step(anchor, anchor), InfoNCE())
    torch.manual_seed(3)
    pool = gaussian_noise(anchor, 60)
    hard = [sum(math.exp(torch.cosine_similarity(x, a, dim=0).item() / 0.05) for a in anchor) for x in pool]
    expected = sorted(range(60), key=lambda place: -hard[place])[:3]
    assert torch.equal(found, pool[expected])


def test_draws_too_close_to_an_anchor_come_last() -> None:
    anchor = anchors()
    pool = torch.cat([anchor[:1] + 1e-3, -anchor[:1], anchors(20)[6:]])
    close = torch.cosine_similarity(pool[:, None], anchor[None], dim=-1).amax(dim=1)
    allowed = int((close <= 0.9).sum())
    assert 0 < allowed < len(pool) - 1
    found = hardest(pool, anchor, len(pool), temperature=0.05, nearest=0.9)
    order = torch.cosine_similarity(found[:, None], anchor[None], dim=-1).amax(dim=1)
    assert (order[:allowed] <= 0.9).all()
    assert (order[allowed:] > 0.9).all(), "they fill up what is missing"


def test_harder_noise_is_a_larger_loss() -> None:
    anchor = anchors(16, 32)
    step, loss = Step(anchor, anchor + 0.1), []
    for pool in (1, 10, 100):
        torch.manual_seed(0)
        extra = HardestNoise(pool=pool).draw(step, InfoNCE())
        loss.append(InfoNCE()(Step(step.anchor, step.positive, extra=extra)).item())
    assert loss[0] < loss[1] < loss[2]


def test_a_cosine_is_at_most_1() -> None:
    with pytest.raises(MirrormaskError, match="The 'nearest' of hardest-noise is a cosine, so at most 1. Got 1.5."):
        HardestNoise(nearest=1.5)
    with pytest.raises(MirrormaskError, match="The 'pool' of hardest-noise must be at least 1. Got 0.5."):
        HardestNoise(pool=0.5)
