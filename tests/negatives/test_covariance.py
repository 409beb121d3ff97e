from __future__ import annotations

import numpy as np
import pytest
import torch

from mirrormask.core.errors import MirrormaskError
from mirrormask.negatives.covariance import Covariance, covariance_noise
from mirrormask.negatives.gaussian import gaussian_noise

MIX = torch.randn(4, 4, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
ANCHOR = torch.randn(12, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64) @ MIX + 2


def test_the_product_is_the_covariance_matrix_times_the_noise() -> None:
    torch.manual_seed(4)
    found = covariance_noise(ANCHOR, 3, filter="product")
    torch.manual_seed(4)
    noise = gaussian_noise(ANCHOR, 3).numpy()
    matrix = np.cov(ANCHOR.numpy().T)
    for i in range(3):
        for j in range(4):
            assert found[i, j].item() == pytest.approx(sum(noise[i, k] * matrix[k, j] for k in range(4)))


def test_the_root_against_a_loop() -> None:
    torch.manual_seed(4)
    found = covariance_noise(ANCHOR, 2)
    torch.manual_seed(4)
    u = torch.randn(2, 12, dtype=torch.float64)
    mean = ANCHOR.mean(dim=0)
    for i in range(2):
        expected = mean + sum(u[i, k] * (ANCHOR[k] - mean) for k in range(12)) / 11**0.5
        torch.testing.assert_close(found[i], expected)


def test_the_root_has_the_covariance_of_the_batch() -> None:
    torch.manual_seed(0)
    drawn = covariance_noise(ANCHOR, 200_000).numpy()
    expected = np.cov(ANCHOR.numpy().T)
    np.testing.assert_allclose(np.cov(drawn.T), expected, atol=0.02 * np.abs(expected).max())
    np.testing.assert_allclose(drawn.mean(axis=0), ANCHOR.mean(dim=0).numpy(), atol=0.05)


def test_bad_values() -> None:
    with pytest.raises(MirrormaskError, match=r"The 'filter' of covariance must be one of root, product. Got 'full'"):
        Covariance(filter="full")
