from __future__ import annotations

import pytest
import torch

from mirrormask.core.batch import Step
from mirrormask.core.errors import MirrormaskError
from mirrormask.objectives.info_nce import info_nce
from mirrormask.objectives.soft_negatives import SoftNegatives, margins


def drawn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape)), dtype=torch.float64)


def test_the_margins_against_a_loop() -> None:
    anchor, positive, soft = drawn(7, 4), drawn(7, 4) + 0.5, drawn(7, 2, 4) + 0.5
    total, rests = 0.0, 0
    for i in range(7):
        for each in soft[i]:
            own = torch.cosine_similarity(anchor[i], positive[i], dim=0).item()
            d = torch.cosine_similarity(anchor[i], each, dim=0).item() - own
            rests += -0.6 <= d <= -0.1
            total += (max(0.0, d + 0.1) + max(0.0, -d - 0.6)) / 14
    assert 0 < rests < 14, "some rest between the margins"
    assert abs(margins(anchor, positive, soft, near=0.1, far=0.6).item() - total) < 1e-10


def test_a_soft_negative_is_no_candidate() -> None:
    anchor, positive, soft = drawn(5, 4), drawn(5, 4) + 0.5, drawn(5, 1, 4)
    loss = SoftNegatives(temperature=0.3, weight=0.5)(Step(anchor, positive, hard=soft))
    expected = info_nce(anchor, positive, temperature=0.3) + 0.5 * margins(anchor, positive, soft, near=0.1, far=0.3)
    torch.testing.assert_close(loss, expected, atol=1e-12, rtol=1e-12)


def test_margins_that_leave_no_room_are_refused() -> None:
    with pytest.raises(MirrormaskError, match="The 'far' of soft-negatives must be at least its 'near', 0.1"):
        SoftNegatives(far=0.05)
