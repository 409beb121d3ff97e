"""From impacts to scores of arcs."""

from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.probing.decoders import eisner
from mirrormask.probing.normalization import NORMALIZATIONS, normalized, released_softmax, row_softmax


@pytest.mark.parametrize("how", list(NORMALIZATIONS))
def test_every_normalization_keeps_shape_and_input(how: str) -> None:
    for n in (0, 1, 2, 9):
        matrix = np.random.default_rng(n).random((n, n)).astype(np.float32) * 30
        before = matrix.copy()
        found = normalized(matrix, how)
        assert found.shape == (n, n) and found.dtype == np.float64 and np.isfinite(found).all()
        assert (matrix == before).all()
        if n > 1:
            assert (np.diag(found) == 0).all()
    assert np.isfinite(normalized(np.zeros((4, 4)), how)).all()


def test_the_two_softmaxes_against_loops() -> None:
    matrix = np.random.default_rng(3).random((5, 5)) * 4
    np.fill_diagonal(matrix, 0)
    shares = np.exp(matrix - matrix.max())
    for i in range(5):
        for j in range(5):
            assert row_softmax(matrix)[i, j] == pytest.approx(shares[i, j] / shares[i].sum())
            assert released_softmax(matrix)[i, j] == pytest.approx(shares[i, j] / shares[j].sum())
    off = normalized(matrix, "softmax")
    assert off.sum(axis=1) == pytest.approx(np.ones(5))  # nothing is lost to the diagonal


def test_shares_against_loops() -> None:
    matrix = np.random.default_rng(4).random((4, 4))
    np.fill_diagonal(matrix, 0)
    for i in range(4):
        for j in range(4):
            row, column = matrix[i].sum(), matrix[:, j].sum()
            assert normalized(matrix, "row-share")[i, j] == pytest.approx(matrix[i, j] / (row / 4))
            assert normalized(matrix, "column-share")[i, j] == pytest.approx(matrix[i, j] / (column / 4))
            expected = matrix[i, j] * matrix.sum() / (row * column)
            assert normalized(matrix, "both-shares")[i, j] == pytest.approx(expected)
            assert normalized(matrix, "symmetric")[i, j] == pytest.approx((matrix[i, j] + matrix[j, i]) / 2)


def test_what_is_added_to_a_row_changes_no_tree() -> None:
    rng = np.random.default_rng(5)
    matrix = rng.random((9, 9))
    assert (eisner(matrix, root=2) == eisner(matrix + rng.random((9, 1)) * 10, root=2)).all()


def test_unknown_names() -> None:
    with pytest.raises(MirrormaskError, match="The 'normalization' of a probe must be one of none, softmax, released"):
        normalized(np.zeros((2, 2)), "softmaxes")
