from __future__ import annotations

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.heads.label_splits import class_weights, few_each, stratified


def test_every_class_gives_its_share_and_none_its_only_row() -> None:
    labels = np.repeat([0, 1, 2, 3], [40, 20, 10, 1])
    aside = stratified(labels, 0.1, seed=3)
    assert [int(aside[labels == each].sum()) for each in range(4)] == [4, 2, 1, 0]
    assert np.array_equal(aside, stratified(labels, 0.1, seed=3))
    assert not np.array_equal(aside, stratified(labels, 0.1, seed=4))
    assert stratified(labels, 0.99, seed=3)[labels == 3].sum() == 0


def test_with_several_labels_the_rarest_counts() -> None:
    labels = np.zeros((60, 2), dtype=np.int64)
    labels[:, 0] = 1
    labels[:10, 1] = 1
    labels[50:] = 0
    aside = stratified(labels, 0.2, seed=1)
    assert aside[:10].sum() == 2 and aside[10:50].sum() == 8 and aside[50:].sum() == 2


def test_a_share_is_below_1() -> None:
    with pytest.raises(MirrormaskError, match="'held_out' of classification"):
        stratified(np.array([0, 1]), 1.0, seed=1)


def test_balanced_weights_make_classes_equal() -> None:
    labels = np.repeat([0, 1, 2], [6, 3, 1])
    weights = class_weights(labels, 3, "balanced")
    assert weights is not None
    sums = [weights[each] * (labels == each).sum() for each in range(3)]
    assert np.allclose(sums, sums[0]) and np.isclose(weights[labels].mean(), 1)
    assert class_weights(labels, 3, "none") is None
    with pytest.raises(MirrormaskError, match="must be one of none, balanced. Got 'balance'. Did you mean"):
        class_weights(labels, 3, "balance")


def test_weights_of_several_labels_are_those_of_a_presence() -> None:
    weights = class_weights(np.array([[1, 0], [1, 0], [0, 0], [1, 1]]), 2, "balanced")
    assert weights is not None and weights.tolist() == [1.0, 3.0]


def test_a_few_of_each() -> None:
    labels = np.repeat([0, 1, 2], [9, 5, 4])
    rows = few_each(labels, 4, seed=1)
    assert np.bincount(labels[rows]).tolist() == [4, 4, 4] and len(set(rows.tolist())) == 12
    with pytest.raises(MirrormaskError, match="class 2 has 4"):
        few_each(labels, 5, seed=1)
