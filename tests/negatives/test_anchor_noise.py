from __future__ import annotations

import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.anchor_noise import AnchorNoise, noisy_anchors

ANCHOR = torch.randn(3, 4, generator=torch.Generator().manual_seed(1))


def test_against_a_loop() -> None:
    torch.manual_seed(2)
    found = noisy_anchors(ANCHOR, 5, scale=0.5)
    torch.manual_seed(2)
    noise = torch.randn(5, 4)
    for i in range(5):
        for j in range(4):
            spread = ANCHOR[:, j].std().item()
            expected = ANCHOR[i % 3, j].item() + 0.5 * spread * noise[i, j].item()
            assert found[i, j].item() == pytest.approx(expected, abs=1e-6)


def test_a_batch_without_spread_gives_its_anchors_back() -> None:
    same = torch.ones(3, 4)
    assert torch.equal(noisy_anchors(same, 3), same)


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'scale' of anchor-noise must be above 0. Got 0"):
        AnchorNoise(scale=0)
    with pytest.raises(MirrormaskError, match=r"The 'multiple' of anchor-noise must be above 0. Got -1"):
        AnchorNoise(multiple=-1)
