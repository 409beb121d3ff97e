from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from mirrormask.core.errors import DataError
from mirrormask.evaluation import geometry
from mirrormask.evaluation.geometry import (
    alignment,
    anisotropy,
    effective_rank,
    measure_geometry,
    singular_values,
    uniformity,
)


@pytest.fixture
def vectors() -> NDArray[np.float32]:
    return np.random.default_rng(0).normal(0.3, 1.0, size=(70, 6)).astype(np.float32)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geometry, "_BLOCK", 16)  # so that these few rows already span several blocks


def unit(vectors: NDArray[np.float32]) -> torch.Tensor:
    return torch.nn.functional.normalize(torch.from_numpy(vectors).double(), dim=1)


def test_alignment_and_uniformity_against_loops(vectors: NDArray[np.float32]) -> None:
    units = unit(vectors)
    pairs = list(itertools.combinations(range(70), 2))
    potentials = [math.exp(-2 * float((units[i] - units[j]).pow(2).sum())) for i, j in pairs]
    assert uniformity(vectors) == pytest.approx(math.log(sum(potentials) / len(pairs)), abs=1e-5)
    squares = [float((units[i] - units[i + 35]).pow(2).sum()) for i in range(35)]
    assert alignment(vectors[:35], vectors[35:]) == pytest.approx(sum(squares) / 35)


def test_alignment_and_uniformity_are_the_papers_code(vectors: NDArray[np.float32]) -> None:
    units = unit(vectors)
    assert uniformity(vectors) == pytest.approx(float(torch.pdist(units).pow(2).mul(-2).exp().mean().log()), abs=1e-5)
    left, right = units[:35], units[35:]
    expected = float((left - right).norm(p=2, dim=1).pow(2).mean())
    assert alignment(vectors[:35], vectors[35:]) == pytest.approx(expected)


def test_closed_forms() -> None:
    apart = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert alignment(apart[:1], apart[1:]) == pytest.approx(4.0)
    assert alignment(apart, 5 * apart) == pytest.approx(0.0)
    assert uniformity(apart) == pytest.approx(-8.0)
    assert uniformity(np.eye(5)) == pytest.approx(-4.0)  # every squared distance is 2
    assert uniformity(np.ones((4, 3))) == pytest.approx(0.0, abs=1e-6)
    assert anisotropy(np.eye(5)) == pytest.approx(0.0)
    assert anisotropy(np.ones((4, 3))) == pytest.approx(1.0)
    np.testing.assert_allclose(singular_values(np.eye(5)), np.ones(5))
    np.testing.assert_allclose(singular_values(np.ones((4, 3))), [1, 0, 0], atol=1e-7)
    assert effective_rank(np.ones(5)) == pytest.approx(5.0)
    assert effective_rank(np.array([1.0, 0.0])) == pytest.approx(1.0)


def test_anisotropy_against_a_loop(vectors: NDArray[np.float32]) -> None:
    units = unit(vectors)
    cosines = [float(units[i] @ units[j]) for i, j in itertools.combinations(range(70), 2)]
    assert anisotropy(vectors) == pytest.approx(sum(cosines) / len(cosines))


@pytest.mark.parametrize("centered", [False, True])
def test_singular_values_are_numpys(vectors: NDArray[np.float32], centered: bool) -> None:
    units = unit(vectors).numpy()
    expected = np.linalg.svd(units - units.mean(axis=0) if centered else units, compute_uv=False)
    np.testing.assert_allclose(singular_values(vectors, centered=centered), expected / expected[0], atol=1e-9)


def test_effective_rank_against_a_loop() -> None:
    spectrum = np.array([1.0, 0.5, 0.25])
    shares = [value / 1.75 for value in spectrum]
    assert effective_rank(spectrum) == pytest.approx(math.exp(-sum(share * math.log(share) for share in shares)))


def test_a_sample_is_close_to_all_pairs() -> None:
    vectors = np.random.default_rng(0).normal(size=(600, 8))
    assert uniformity(vectors, sample=300) == pytest.approx(uniformity(vectors), abs=0.05)
    assert uniformity(vectors, sample=300) == uniformity(vectors, sample=300)


def test_all_in_one(vectors: NDArray[np.float32]) -> None:
    found = measure_geometry(vectors, (vectors[:10], vectors[10:20]))
    assert (found.texts, found.positives) == (70, 10)
    assert found.alignment == pytest.approx(alignment(vectors[:10], vectors[10:20]))
    content = json.loads(json.dumps(found.to_dict()))
    assert content["singular_values_of"] == "unit vectors, not centered, largest = 1"
    assert len(content["singular_values"]) == content["width"] == 6
    without = measure_geometry(vectors)
    assert without.alignment is None
    assert measure_geometry(vectors, (vectors[:0], vectors[:0])).alignment is None


def test_a_zero_vector_does_no_harm() -> None:
    vectors = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert anisotropy(vectors) == pytest.approx(0.0)
    assert math.isfinite(uniformity(vectors))
    assert math.isfinite(measure_geometry(np.zeros((3, 2))).effective_rank)


def test_one_text_is_too_few() -> None:
    with pytest.raises(DataError, match=r"at least 2 different texts. Got 1."):
        measure_geometry(np.ones((1, 3)))
