from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from mirrormask.core.errors import MirrormaskError
from mirrormask.views.output_mask import OutputMask, mask_elements


def test_every_element_is_zero_or_as_it_was() -> None:
    torch.manual_seed(0)
    z = torch.randn(300, 100)
    seen = mask_elements(z, 0.1)
    assert ((seen == 0) | (seen == z)).all()
    assert (seen == 0).float().mean().item() == pytest.approx(0.1, abs=0.005)


def test_the_cosine_is_the_root_of_what_stays() -> None:
    """With equal elements a share 1 - rate of the square length stays, so the cosine is its root."""
    torch.manual_seed(0)
    ones = torch.ones(200, 1000)
    cosines = F.cosine_similarity(ones, mask_elements(ones, 0.1))
    assert cosines.mean().item() == pytest.approx(0.9**0.5, abs=0.001)


def test_the_gradient_is_the_mask() -> None:
    z = torch.ones(4, 30, requires_grad=True)
    seen = OutputMask(0.5).output(z)
    seen.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(z.grad, seen.detach())  # type: ignore[arg-type]


def test_a_rate_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of output-mask must be at least 0 and below 1. Got 1"):
        OutputMask(1.0)
