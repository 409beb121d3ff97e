"""The two masks that choose elements by size, `output-smallest` and `output-largest`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from mirrormask.core.errors import MirrormaskError
from mirrormask.views import View
from mirrormask.views.output_largest import OutputLargest, mask_largest
from mirrormask.views.output_smallest import OutputSmallest, mask_smallest


@pytest.mark.parametrize(("mask", "largest"), [(mask_smallest, False), (mask_largest, True)])
def test_equals_the_loop(mask: Callable[[Tensor, float], Tensor], largest: bool) -> None:
    torch.manual_seed(0)
    z = torch.randn(6, 30)
    seen = mask(z, 0.1)
    for i in range(6):
        order = sorted(range(30), key=lambda j: abs(z[i, j].item()), reverse=largest)
        expected = [0.0 if j in order[:3] else z[i, j].item() for j in range(30)]
        assert seen[i].tolist() == expected


def test_small_elements_hardly_matter_to_the_cosine_and_large_ones_do() -> None:
    torch.manual_seed(0)
    z = torch.randn(50, 200)
    small, large = (torch.cosine_similarity(z, mask(z, 0.1)) for mask in (mask_smallest, mask_largest))
    assert small.min() > 0.999
    assert large.max() < 0.85


@pytest.mark.parametrize("view", [OutputSmallest(0.5), OutputLargest(0.5)])
def test_no_gradient_reaches_what_is_masked(view: View) -> None:
    z = torch.tensor([[3.0, -1.0, 2.0, -4.0]], requires_grad=True)
    seen = view.output(z)
    seen.sum().backward()  # type: ignore[no-untyped-call]
    assert torch.equal(z.grad, (seen != 0).float())  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [OutputSmallest, OutputLargest])
def test_a_share_that_cannot_be(kind: type[View]) -> None:
    with pytest.raises(MirrormaskError, match="The 'share' of output-.* must be at least 0 and below 1. Got 1"):
        kind(1.0)
