"""Words begin where the text says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirrormask.data.text.vocabulary import word_starts
from mirrormask.models.names import SHIPPED


def words_of(tokenizer: Any, text: str) -> list[str]:
    """Return the text in pieces cut where the table says a word begins."""
    found = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
    starts = word_starts(tokenizer)[found["input_ids"]]
    starts[0] = True
    places = sorted({found["offset_mapping"][i][0] for i in np.flatnonzero(starts)})
    return [text[a:b].strip() for a, b in zip(places, [*places[1:], len(text)], strict=True)]


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
def test_words_begin_at_white_space(request: pytest.FixtureRequest, name: str) -> None:
    tokenizer = request.getfixturevalue(name)
    text = "the unbreakable boats walked along sleeping rivers"
    assert words_of(tokenizer, text) == text.split()


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe"])
def test_chinese_characters_are_words(request: pytest.FixtureRequest, name: str) -> None:
    assert words_of(request.getfixturevalue(name), "雨猫天书") == list("雨猫天书")


def test_chinese_pieces_begin_words(unigram: Any) -> None:
    starts = word_starts(unigram)
    pieces = [token for token in unigram.get_vocab() if token[0] in "今天下雨我们在家看书猫厨房睡觉"]
    assert pieces
    assert all(starts[unigram.convert_tokens_to_ids(piece)] for piece in pieces)


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
def test_table_covers_the_vocabulary(request: pytest.FixtureRequest, name: str) -> None:
    tokenizer = request.getfixturevalue(name)
    starts = word_starts(tokenizer)
    assert starts.shape == (len(tokenizer),)
    assert starts[tokenizer.all_special_ids].all()
    assert not starts.all()


def test_the_shipped_model() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(SHIPPED / "mini")
    assert words_of(tokenizer, "unbelievably old ferryboats") == ["unbelievably", "old", "ferryboats"]
