from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from mirrormask.core.errors import ModelError
from mirrormask.evaluation.vectors import TextVectors


class Recorder:
    """Encodes a text as its length and its first letter, and remembers what it was given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.seen += texts
        return np.array([[len(text), ord(text[0])] for text in texts], dtype=np.float32)


def test_each_text_is_encoded_once_and_found_by_its_text() -> None:
    encoder, done = Recorder(), list[tuple[str, int, int]]()
    texts = ["one", "three", "one", "two"]
    vectors = TextVectors.encode(encoder, texts, name="r", progress=lambda *step: done.append(step))
    assert encoder.seen == ["one", "three", "two"]
    assert len(vectors) == 3
    assert done == [("r", 3, 3)]
    np.testing.assert_array_equal(vectors.of(["two", "one", "two"])[:, 0], [3, 3, 3])
    np.testing.assert_array_equal(vectors.of(["three"]), [[5, ord("t")]])


def test_a_function_is_an_encoder_too() -> None:
    assert len(TextVectors.encode(Recorder().encode, ["a", "b"])) == 2


def test_vectors_that_are_no_numbers_name_the_model() -> None:
    with pytest.raises(ModelError, match="collapsed gives vectors with NaN or infinity for 1 of 2 texts"):
        TextVectors.encode(lambda texts: np.array([[1.0], [np.nan]]), ["a", "b"], name="collapsed")


def test_a_wrong_shape_names_the_model() -> None:
    with pytest.raises(ModelError, match=r"one vector per text. Got an array of shape \(2,\)"):
        TextVectors.encode(lambda texts: np.ones(2), ["a", "b"])
