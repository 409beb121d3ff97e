from __future__ import annotations

import numpy as np
import torch
from sentence_transformers.util import cos_sim
from sklearn.metrics.pairwise import cosine_similarity

from mirrormask.core.similarity import cosine, paired_cosine, unit_rows

LEFT, RIGHT = (np.random.default_rng(seed).normal(size=(5, 7)) for seed in (0, 1))


def test_cosine_equals_the_libraries() -> None:
    found = cosine(torch.from_numpy(LEFT), torch.from_numpy(RIGHT))
    torch.testing.assert_close(found, cos_sim(LEFT, RIGHT).double(), atol=1e-6, rtol=0)
    np.testing.assert_allclose(found.numpy(), cosine_similarity(LEFT, RIGHT), atol=1e-12)


def test_paired_cosine_is_the_diagonal_and_a_loop() -> None:
    found = paired_cosine(LEFT, RIGHT)
    np.testing.assert_allclose(found, np.diag(cosine_similarity(LEFT, RIGHT)), atol=1e-12)
    loop = [
        sum(a * b for a, b in zip(x, y, strict=True)) / (np.hypot.reduce(x) * np.hypot.reduce(y))
        for x, y in zip(LEFT, RIGHT, strict=True)
    ]
    np.testing.assert_allclose(found, loop, atol=1e-12)


def test_unit_rows_keep_zero() -> None:
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32))
    assert rows.dtype == np.float64
    assert rows.tolist() == [[0.6, 0.8], [0.0, 0.0]]
