from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError
from mirrormask.core.unknown import UnknownTokens
from mirrormask.probing.units import UnitTokenizer, spread

WORDS = ["Two", "farmers", "unbelievable", "walked", ",", "talking", "about", "kitchens", "."]


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
def test_units_cover_what_the_tokenizer_makes_of_the_text(name: str, request: pytest.FixtureRequest) -> None:
    tokenizer = request.getfixturevalue(name)
    units = UnitTokenizer(tokenizer, 64)([WORDS])[0]
    assert units.ids.tolist() == tokenizer(" ".join(WORDS))["input_ids"]
    assert len(units) == len(WORDS)
    assert units.places.tolist() == list(range(1, len(units.ids) - 1))
    for word, start, size in zip(WORDS, units.starts, units.sizes, strict=True):
        pieces = tokenizer.convert_ids_to_tokens(units.ids[start : start + size].tolist())
        assert "".join(piece.lstrip("#Ġ▁") for piece in pieces).lower() == word.lower()


def test_spans_and_characters_are_units_too(wordpiece: Any) -> None:
    fresh = copy.deepcopy(wordpiece)  # of one tokenizer it is told once
    with pytest.warns(UnknownTokens, match="31% of the tokens are unknown"):
        units = UnitTokenizer(fresh, 64)([["the old boat", "crossed", "the wide river"], list("今天下雨2024年")])
    assert [len(each) for each in units] == [3, 9]
    assert units[1].sizes.tolist() == [1] * 9
    joined = UnitTokenizer(wordpiece, 64, separator="")([list("今天下雨")])[0]
    assert joined.ids.tolist() == wordpiece("今天下雨")["input_ids"]


def test_what_the_tokenizer_drops_is_unknown(wordpiece: Any) -> None:
    with pytest.warns(UnknownTokens, match="33% of the tokens are unknown"):
        units = UnitTokenizer(copy.deepcopy(wordpiece), 64)([["the", "​­", "boat"]])[0]
    assert units.sizes.tolist()[1] == 1
    assert units.ids[units.starts[1]] == wordpiece.unk_token_id


def test_a_tokenizer_without_a_fast_one_inside(wordpiece: Any) -> None:
    class Slow:
        unk_token_id = wordpiece.unk_token_id
        unk_token = wordpiece.unk_token
        all_special_tokens = wordpiece.all_special_tokens
        get_vocab = wordpiece.get_vocab

        def __call__(self, text: str, **options: Any) -> Any:
            return wordpiece(text, **options)

    slow, fast = (UnitTokenizer(each, 64)([WORDS])[0] for each in (Slow(), wordpiece))
    assert slow.ids.tolist() == fast.ids.tolist()
    assert slow.sizes.tolist() == fast.sizes.tolist()


def test_roots_and_tokens(wordpiece: Any) -> None:
    units = UnitTokenizer(wordpiece, 64)([WORDS])[0]
    tokens = units.of_tokens()
    assert tokens.starts.tolist() == units.places.tolist()
    rooted = units.with_root()
    assert (rooted.starts[0], rooted.sizes[0], len(rooted)) == (0, 1, len(WORDS) + 1)


def test_errors_count_from_where_they_are_told(wordpiece: Any) -> None:
    with pytest.raises(DataError, match="Sentence 12 is empty"):
        UnitTokenizer(wordpiece, 64)([["a"], []], first=11)
    with pytest.raises(DataError, match=r"Sentence 1 has \d+ tokens in 9 units, and the model reads at most 5"):
        UnitTokenizer(wordpiece, 5)([WORDS])


def test_spread_of_nothing() -> None:
    none = np.array([], dtype=np.int64)
    assert spread(none, none).tolist() == []
    assert spread(np.array([4, 1]), np.array([0, 2])).tolist() == [1, 2]
