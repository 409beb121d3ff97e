from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from mirrormask.core.errors import DataError
from mirrormask.core.similarity import unit_rows
from mirrormask.exporting import static
from mirrormask.exporting.static import learned_from, spread_evenly, token_shares, token_vectors, weighted_by_rarity
from mirrormask.models.bulk import tokenize


def shares_of(rows: list[list[int]], size: int) -> sparse.csr_matrix:
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    values = np.concatenate([np.full(len(row), 1 / len(row)) for row in rows]).astype(np.float32)
    return sparse.csr_matrix((values, np.concatenate(rows), starts), shape=(len(rows), size))


def test_rare_tokens_count_more_and_what_all_share_is_taken_out() -> None:
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(4, 3)).astype(np.float32) + 5
    rows = [[0, 0, 1], [0, 2], [0]]
    found = weighted_by_rarity(vectors, shares_of(rows, 4))
    counts = np.array([4, 1, 1, 0]) + 0.5  # a token that a text has twice counts twice
    chance = counts / counts.sum()
    mean = sum(chance[token] * vectors[token] for token in range(4))
    for token in range(4):
        expected = static.RARE / (static.RARE + chance[token]) * (vectors[token] - mean)
        np.testing.assert_allclose(found[token], expected, rtol=1e-4, atol=1e-6)


def test_texts_vary_about_as_much_in_every_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    vectors = (rng.normal(size=(300, 6)) * [9, 5, 3, 1, 0.5, 0.2]).astype(np.float32)
    shares = shares_of([rng.integers(0, 300, 5).tolist() for _ in range(2000)], 300)

    def unevenness(table: Any) -> float:
        variances = np.linalg.eigvalsh(np.cov(unit_rows(shares @ table), rowvar=False))
        return float(variances.max() / variances.min())

    assert unevenness(spread_evenly(vectors, shares)) < unevenness(vectors) / 5
    monkeypatch.setattr(static, "POWER", 1.0)
    monkeypatch.setattr(static, "FLOOR", 0.0)
    whitened = spread_evenly(vectors, shares)
    lengths = np.linalg.norm(shares @ vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(np.cov((shares @ whitened) / lengths, rowvar=False), np.eye(6), atol=1e-3)


def test_shares_leave_out_what_stands_around_a_text(tiny: Callable[..., Any]) -> None:
    for pooling in ("mean", "mask-prompt"):
        encoder = tiny(pooling=pooling)
        text = "the old baker"
        bare = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]
        found = token_shares(encoder, [text, ""], len(encoder.tokenizer)).toarray()
        assert sorted(np.flatnonzero(found[0]).tolist()) == sorted(bare)
        assert found[0].sum() == pytest.approx(1)
        assert not found[1].any()


def test_a_token_begins_as_the_encoder_sees_it_alone(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny(pooling="mean")
    (row,) = tokenize(encoder, ["cat"]).rows
    alone = static._alone(encoder, None)
    np.testing.assert_allclose(alone[row[1]], encoder.encode("cat", show_progress_bar=False), atol=1e-5)
    table = token_vectors(encoder, sentences)
    assert not table[encoder.tokenizer.all_special_ids].any()
    assert np.isfinite(table).all()


def test_few_texts_are_refused_and_equal_ones_count_once() -> None:
    texts = [f"text {number}" for number in range(1500)]
    learned, held_out = learned_from(texts)
    assert len(learned) == 1300
    assert not set(learned) & set(held_out)
    with pytest.raises(DataError, match=r"at least 1,200 different texts, and the corpus has 1,100"):
        learned_from([*texts[:1100], *texts[:1100], " "])
