from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

from mirrormask.core.encoding import Encoder
from mirrormask.core.unknown import BareTokenizer, UnknownCount, UnknownTokens

CHINESE, JAPANESE, GREEK = "股票今天又跌了很多。", "きょうは雨が降りました。", "ξψζ χφ ωθ"
UNKNOWN = 1


def counted(unknown: int, known: int, text: str = "text", name: str = "owner/my-model", **options: Any) -> list[str]:
    """Return what is warned of for so many tokens of each kind."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        count = UnknownCount(BareTokenizer(UNKNOWN, name), **options)
        count.add(np.array([UNKNOWN] * unknown + [7] * known), [text])
    assert all(each.category is UnknownTokens for each in said)
    return [str(each.message) for each in said]


def test_more_than_a_tenth_is_too_much() -> None:
    assert counted(1, 9) == []
    (said,) = counted(2, 9)
    assert said.startswith("18% of the tokens are unknown to the tokenizer of my-model, ")
    assert counted(0, 0) == []


@pytest.mark.parametrize(
    ("text", "name", "way_out"),
    [
        (CHINESE, "mini", "such as mini-zh."),
        (CHINESE, "mini-zh", "mirrormask pretrain."),
        (JAPANESE, "mini", "mirrormask pretrain."),
        (GREEK, "mini", "mirrormask pretrain."),
    ],
)
def test_the_model_that_fits_is_named(text: str, name: str, way_out: str) -> None:
    (said,) = counted(9, 1, text, name)
    assert said.endswith(way_out)


def test_a_model_is_called_by_its_run() -> None:
    assert "the tokenizer of reviews, " in counted(9, 1, name="runs/reviews/model")[0]
    assert "unknown to the tokenizer, " in counted(9, 1, name="")[0]


def test_a_few_tokens_of_many_do_not_tell() -> None:
    assert counted(9, 1, enough=11) == []
    assert len(counted(9, 2, enough=11)) == 1


def test_the_encoder_counts_and_says_it_once(wordpiece: Any) -> None:
    fresh = copy.deepcopy(wordpiece)
    with pytest.warns(UnknownTokens, match="unknown to the tokenizer") as said:
        Encoder(fresh)(["the old boat", GREEK])
        Encoder(fresh)([GREEK, GREEK])
    assert len(said) == 1


def test_a_tokenizer_of_bytes_knows_everything(byte_bpe: Any) -> None:
    assert len(Encoder(byte_bpe)([GREEK, CHINESE])) == 2
