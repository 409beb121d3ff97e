"""Whitening and its kin: against numpy, a loop and closed forms, and what cannot be fitted is said in one sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.isotropy import transforms
from mirrormask.isotropy.component_removal import ComponentRemoval
from mirrormask.isotropy.moments import BLOCK, Moments
from mirrormask.isotropy.standardization import Standardization
from mirrormask.isotropy.whitening import Whitening
from mirrormask.isotropy.without_mean import Centering


def anisotropic(count: int = 500, width: int = 6, seed: int = 0) -> Tensor:
    """Return vectors that all point the same way, with directions of very different variance."""
    rng = np.random.default_rng(seed)
    mixed = rng.normal(size=(count, width)) * np.geomspace(3, 0.3, width) @ rng.normal(size=(width, width))
    return torch.from_numpy(mixed + 20).float()


def test_moments_are_numpys_however_the_rows_are_cut() -> None:
    rows = anisotropic(BLOCK + 700)
    exact = rows.double().numpy()
    for size in (len(rows), 1000, 37):
        found = Moments(rows.split(size), of="whitening")
        assert found.count == len(rows)
        np.testing.assert_allclose(found.mean, exact.mean(axis=0), rtol=1e-6)
        np.testing.assert_allclose(found.covariance, np.cov(exact.T), rtol=1e-4, atol=1e-5)


def test_a_large_mean_does_not_drown_the_covariance() -> None:
    rows = torch.randn(3000, 4, generator=torch.Generator().manual_seed(1))
    found = Moments((rows + 1000).split(500), of="whitening").covariance
    np.testing.assert_allclose(found, np.cov((rows + 1000).double().numpy().T), atol=1e-3)


def test_whitened_vectors_have_mean_0_and_the_identity_as_covariance() -> None:
    rows = anisotropic()
    white = Whitening().fit(rows.split(99)).transform(rows).double().numpy()
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(np.cov(white.T), np.eye(6), atol=1e-3)


def test_whitening_is_the_published_formula() -> None:
    """W = U diag(1 / sqrt(s)) of the SVD of np.cov, first k columns; signs are free."""
    rows = anisotropic()
    exact = rows.double().numpy()
    u, s, _ = np.linalg.svd(np.cov(exact.T))
    expected = (exact - exact.mean(axis=0)) @ (u @ np.diag(1 / np.sqrt(s)))[:, :3]
    found = Whitening(dimension=3).fit([rows]).transform(rows).numpy()
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=2e-3)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-2)


def test_the_strongest_components_are_gone_and_the_others_stay() -> None:
    rows = anisotropic()
    exact = rows.double().numpy()
    centered = exact - exact.mean(axis=0)
    u = np.linalg.eigh(np.cov(exact.T))[1][:, ::-1][:, :2]
    expected = np.array([row - sum((row @ u[:, i]) * u[:, i] for i in range(2)) for row in centered])
    found = ComponentRemoval(components=2).fit(rows.split(50)).transform(rows).numpy()
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert np.abs(found @ u).max() < 1e-3


def test_by_default_a_hundredth_of_the_components_goes() -> None:
    rows = torch.randn(900, 250, generator=torch.Generator().manual_seed(0))
    matrix = ComponentRemoval().fit([rows]).matrix
    assert matrix is not None
    assert round(float(torch.trace(matrix))) == 250 - 2


def test_standardized_dimensions_have_variance_1() -> None:
    rows = anisotropic()
    found = Standardization().fit(rows.split(60)).transform(rows)
    torch.testing.assert_close(found.mean(dim=0), torch.zeros(6), atol=1e-3, rtol=0)
    torch.testing.assert_close(found.std(dim=0), torch.ones(6), atol=1e-3, rtol=0)


@pytest.mark.parametrize("name", ["whitening", "centering", "standardization", "component-removal"])
def test_the_module_is_the_transform(name: str) -> None:
    rows = anisotropic()
    fitted = transforms.build(name).fit([rows])
    found = fitted.module()({"sentence_embedding": rows})["sentence_embedding"]
    torch.testing.assert_close(found, fitted.transform(rows), atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("name", ["whitening", "component-removal", "flow"])
def test_fewer_vectors_than_dimensions(name: str) -> None:
    said = r"needs more vectors than a vector has dimensions, 6, and there are 6. Give more text, or take .* centering"
    with pytest.raises(DataError, match=said):
        transforms.build(name, **({"levels": 1} if name == "flow" else {})).fit([anisotropic(6)])


@pytest.mark.parametrize("name", ["whitening", "standardization", "flow"])
def test_constant_dimensions(name: str) -> None:
    rows = anisotropic()
    rows[:, 2:4] = 0.1234567
    with pytest.raises(DataError, match=r"2 of the 6 dimensions are the same in all 500 vectors \(number 3 is the"):
        transforms.build(name, **({"levels": 1} if name == "flow" else {})).fit(rows.split(100))


@pytest.mark.parametrize("name", ["whitening", "centering", "standardization", "component-removal", "flow"])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_numbers(name: str, bad: float) -> None:
    rows = anisotropic()
    rows[321, 4] = bad
    with pytest.raises(DataError, match=r"Vector 322 for .* has NaN or infinity in it"):
        transforms.build(name).fit(rows.split(100))


@pytest.mark.parametrize("name", transforms.names())
def test_nothing_and_not_yet(name: str) -> None:
    with pytest.raises(DataError, match="fitted on vectors, and there is none"):
        transforms.build(name).fit([])
    with pytest.raises(DataError, match="must be fitted before it is used"):
        transforms.build(name).transform(torch.zeros(1, 2))
    with pytest.raises(DataError, match="must be fitted before it is used"):
        transforms.build(name).module()


def test_vectors_of_two_models() -> None:
    with pytest.raises(DataError, match="have 6 numbers, and then 4"):
        Centering().fit([torch.zeros(2, 6), torch.zeros(2, 4)])


def test_directions_that_are_missing() -> None:
    rows = anisotropic(width=4)
    doubled = torch.cat([rows, rows.flip(1)], dim=1)
    with pytest.raises(DataError, match="vary in 4 directions only, and whitening is to keep 5. .* at most 4"):
        Whitening(dimension=5).fit([doubled])
    for dimension in (0, 4):
        white = Whitening(dimension=dimension).fit([doubled]).transform(doubled)
        torch.testing.assert_close(torch.cov(white.T), torch.eye(4), atol=1e-2, rtol=0)


def test_numbers_that_cannot_be() -> None:
    with pytest.raises(MirrormaskError, match="'dimension' of whitening must be at most that of the vectors, 6. Got 7"):
        Whitening(dimension=7).fit([anisotropic()])
    with pytest.raises(MirrormaskError, match="'components' .* must be below the dimensions of a vector, 6. Got 6"):
        ComponentRemoval(components=6).fit([anisotropic()])
    with pytest.raises(MirrormaskError, match="'dimension' of whitening must be at least 0"):
        Whitening(dimension=-1)
