"""Transforms are fitted on vectors and saved with the encoder, as modules that open without mirrormask."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer
from torch import Tensor

from mirrormask.core.errors import DataError
from mirrormask.isotropy.without_mean import Centering
from mirrormask.models.description import describe_model
from mirrormask.models.encoder import load, pooling_of, save_encoder
from mirrormask.models.transform import keep


def vectors(encoder: Any, texts: list[str]) -> Tensor:
    return torch.from_numpy(encoder.encode(texts))


def test_centering_equals_numpy() -> None:
    rows = torch.randn(23, 5) + 4
    fitted = Centering().fit(rows.split(7))
    expected = rows.numpy() - rows.double().numpy().mean(axis=0)
    np.testing.assert_allclose(fitted.transform(rows).numpy(), expected, atol=1e-5)
    assert fitted.transform(rows).mean(dim=0).abs().max() < 1e-6


@pytest.mark.parametrize("pooling", ["mean", "cls-mlp-kept", "first-last"])
def test_it_is_saved_and_opens_without_mirrormask(
    pooling: str, tiny: Callable[..., Any], sentences: list[str], tmp_path: Path
) -> None:
    encoder = tiny(pooling=pooling)
    before = vectors(encoder, sentences[:40])
    fitted = Centering().fit(vectors(encoder, sentences[start : start + 20]) for start in (100, 120, 140))
    keep(encoder, fitted)
    expected = fitted.transform(before)
    torch.testing.assert_close(vectors(encoder, sentences[:40]), expected, atol=1e-5, rtol=1e-4)
    assert (expected - before).abs().max() > 0.01
    save_encoder(encoder, tmp_path / "model")
    plain = SentenceTransformer(str(tmp_path / "model"), device="cpu")
    torch.testing.assert_close(vectors(plain, sentences[:40]), expected, atol=1e-5, rtol=1e-4)
    described = describe_model(str(tmp_path / "model"))
    assert described["transform"] == "centering"
    assert described["opens_with"].startswith("SentenceTransformer(")
    assert described["pooling"] == pooling
    again = load(tmp_path / "model", device="cpu")
    assert pooling_of(again) == pooling
    save_encoder(again, tmp_path / "second")  # saved again, it is still there and still said
    torch.testing.assert_close(
        vectors(load(tmp_path / "second", device="cpu"), sentences[:40]), expected, atol=1e-5, rtol=1e-4
    )
    assert describe_model(str(tmp_path / "second"))["transform"] == "centering"


def test_nothing_is_said_where_there_is_none(tiny: Callable[..., Any], tmp_path: Path) -> None:
    save_encoder(tiny(pooling="mean"), tmp_path / "model")
    assert "transform" not in describe_model(str(tmp_path / "model"))


def test_what_cannot_be() -> None:
    with pytest.raises(DataError, match="fitted on vectors, and there is none"):
        Centering().fit([])
    with pytest.raises(DataError, match="must be fitted before it is used"):
        Centering().transform(torch.zeros(1, 2))
