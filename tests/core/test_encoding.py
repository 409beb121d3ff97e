"""Remembered words give the ids that the tokenizer gives, whatever the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirrormask.core import encoding
from mirrormask.core.encoding import Encoder
from mirrormask.core.errors import DataError

PIECES = [
    *("river", "River,", "rivers.", "(boats)", "walk-ing", "don't", "3.14", "$5", "5€", "naïve", "nai\u0308ve", "ÉTÉ"),
    *("今天下雨", "boat今", "\u0301x", "a\u0301", "\xa0", "a\xa0b", "\t", "x\ty", "\x1c", "a\x1cb", "\x00", "\ufffd"),
    *(
        "[MASK]",
        "a[SEP]b",
        "[PAD]",
        "[pad]",
        "[CLS] x",
        "\u2009",
        "ß",
        "İ",
        "ﬁ",
        "ΣΑΣ",
        "😀",
        "w" * 120,
        "",
        "_",
        "##x",
    ),
]


def texts(count: int) -> list[str]:
    chance = np.random.default_rng(3)
    chosen = [chance.choice(len(PIECES), size=chance.integers(0, 12)) for _ in range(count)]
    return [str(chance.choice([" ", " ", "  ", ""])).join(PIECES[i] for i in row) for row in chosen]


def expected(tokenizer: Any, rows: list[str]) -> list[list[int]]:
    return [tokenizer(row, add_special_tokens=False)["input_ids"] for row in rows]


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
@pytest.mark.parametrize("cached", [0, 20, 1 << 16])
@pytest.mark.filterwarnings("ignore::mirrormask.core.unknown.UnknownTokens")
def test_equals_the_tokenizer(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, name: str, cached: int
) -> None:
    monkeypatch.setattr(encoding, "_CACHED_WORDS", cached)
    tokenizer = request.getfixturevalue(name)
    encode = Encoder(tokenizer)
    rows = texts(1500)
    for start in range(0, len(rows), 300):
        block = rows[start : start + 300]
        found = [np.frombuffer(row, dtype=encode.dtype).tolist() for row in encode(block)]
        assert found == expected(tokenizer, block)
    assert encode([]) == []
    assert (encode._words is not None) == (name == "wordpiece")
    assert encode._words is None or len(encode._words) <= max(cached, 1)


def test_added_words_with_spaces_are_respected(wordpiece: Any) -> None:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_str(wordpiece.backend_tokenizer.to_str()))
    tokenizer.add_tokens(["old boat"])
    rows = ["the old boat sank", "an old river boat"]
    encode = Encoder(tokenizer)
    assert [np.frombuffer(row, dtype=encode.dtype).tolist() for row in encode(rows)] == expected(tokenizer, rows)


def test_without_special_tokens_words_go_one_by_one() -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer(models.WordPiece({"a": 0, "b": 1, "##b": 2, "?": 3}, unk_token="?"))
    bare.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare)
    encode = Encoder(tokenizer)
    assert encode._words is not None
    assert encode._fence is None
    assert [np.frombuffer(row, dtype=encode.dtype).tolist() for row in encode(["ab b  a"])] == [[0, 2, 1, 0]]


def test_tokenizers_in_python_work_too() -> None:
    class Letters:
        def __len__(self) -> int:
            return 128

        def __call__(self, text: str, **settings: Any) -> dict[str, list[int]]:
            return {"input_ids": [ord(letter) for letter in text]}

    encode = Encoder(Letters())
    assert [np.frombuffer(row, dtype=encode.dtype).tolist() for row in encode(["ab", ""])] == [[97, 98], []]


def test_half_a_character_is_refused(wordpiece: Any, byte_bpe: Any) -> None:
    for tokenizer in (wordpiece, byte_bpe):
        with pytest.raises(DataError, match=r"A text holds '\\udce9', which is not UTF-8"):
            Encoder(tokenizer)(["fine", "caf\udce9"])
