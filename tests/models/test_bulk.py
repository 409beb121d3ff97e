from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mirrormask.core import blocks
from mirrormask.core.errors import MirrormaskError
from mirrormask.models.bulk import encode_blocks, encode_texts, tokenize


def test_vectors_equal_the_librarys_in_order(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny()
    texts = [*sentences[:60], "a", "", sentences[3], "a quiet child " * 80]
    np.testing.assert_allclose(encode_texts(encoder, texts, precision="fp32"), encoder.encode(texts), atol=1e-5)


def test_rows_are_those_the_library_would_see(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny()
    texts = [*sentences[:5], "a quiet child " * 80]
    rows = tokenize(encoder, texts).rows
    for text, row in zip(texts, rows, strict=True):
        assert row.tolist() == encoder.preprocess([text])["input_ids"][0].tolist()


def test_equal_texts_are_encoded_once(tiny: Callable[..., Any]) -> None:
    seen: list[int] = []
    vectors = encode_texts(tiny(), ["a cat", "bread", "a cat", "a cat"], progress=seen.append)
    assert sum(seen) == 2
    assert (vectors[0] == vectors[2]).all()


def test_blocks_bound_memory_and_keep_order(
    tiny: Callable[..., Any], sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks, "BLOCK", 7)
    encoder = tiny()
    found = list(encode_blocks(encoder, iter(sentences[:20]), precision="fp32"))
    assert [len(each) for each in found] == [7, 7, 6]
    np.testing.assert_allclose(np.concatenate(found), encoder.encode(sentences[:20]), atol=1e-5)


def test_training_mode_is_left_as_it_was(tiny: Callable[..., Any]) -> None:
    encoder = tiny().train()
    encode_texts(encoder, ["a cat"])
    assert encoder.training


def test_no_texts_give_no_vectors(tiny: Callable[..., Any]) -> None:
    assert encode_texts(tiny(), []).shape == (0, 32)


def test_an_unknown_precision_is_refused(tiny: Callable[..., Any]) -> None:
    with pytest.raises(MirrormaskError, match="Did you mean 'fp16'"):
        encode_texts(tiny(), ["a"], precision="fp61")
