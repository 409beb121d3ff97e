"""Words begin where the text says so, and a framed text equals the tokenizer's own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.vocabulary import frame_of, word_starts

TEMPLATE = 'This sentence : "{text}" means [MASK].'


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


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
def test_frame_is_the_special_tokens(request: pytest.FixtureRequest, name: str) -> None:
    tokenizer = request.getfixturevalue(name)
    frame = frame_of(tokenizer)
    assert frame.prefix.tolist() == [tokenizer.cls_token_id]
    assert frame.suffix.tolist() == [tokenizer.sep_token_id]
    text = "two dogs crossed the kitchen"
    alone = np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert frame.around(alone, 64).tolist() == tokenizer(text)["input_ids"]


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe"])
@pytest.mark.parametrize("template", [TEMPLATE, '[MASK] is what "{text}" means.', '"{text}"[MASK]'])
def test_template_equals_the_whole_text(request: pytest.FixtureRequest, name: str, template: str) -> None:
    tokenizer = request.getfixturevalue(name)
    frame = frame_of(tokenizer, template)
    for text in ["two dogs crossed the kitchen", "unbelievable", "今天", "a, b and c"]:
        alone = np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"])
        assert frame.around(alone, 64).tolist() == tokenizer(template.format(text=text))["input_ids"]
    assert (frame.prefix.tolist() + frame.suffix.tolist()).count(tokenizer.mask_token_id) == 1


def test_template_around_sentencepiece(unigram: Any) -> None:
    whole = unigram(TEMPLATE.format(text="the cat"))["input_ids"]
    frame = frame_of(unigram, TEMPLATE)
    assert frame.prefix.tolist() == whole[: len(frame.prefix)]
    assert frame.suffix.tolist() == whole[-len(frame.suffix) :]


def test_tokenizer_without_special_tokens(byte_bpe: Any) -> None:
    from tokenizers import Tokenizer, processors
    from transformers import PreTrainedTokenizerFast

    bare = Tokenizer.from_str(byte_bpe.backend_tokenizer.to_str())
    bare.post_processor = processors.ByteLevel()
    assert len(frame_of(PreTrainedTokenizerFast(tokenizer_object=bare))) == 0


@pytest.mark.parametrize("template", ["{text} means", "[MASK]", "{text} {text} [MASK]", ""])
def test_templates_need_both_places_once(wordpiece: Any, template: str) -> None:
    with pytest.raises(MirrormaskError, match=r"must hold .* exactly once\. Got .* write it like"):
        frame_of(wordpiece, template)


def test_template_needs_a_mask_token(byte_bpe: Any) -> None:
    from transformers import PreTrainedTokenizerFast

    with pytest.raises(MirrormaskError, match="needs a tokenizer with a mask token"):
        frame_of(PreTrainedTokenizerFast(tokenizer_object=byte_bpe.backend_tokenizer), TEMPLATE)


@pytest.mark.shared
@pytest.mark.skipif("MIRRORMASK_MODELS" not in os.environ, reason="needs MIRRORMASK_MODELS")
def test_real_model() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(Path(os.environ["MIRRORMASK_MODELS"]) / "mini")
    text = "An unbelievably old ferryboat's captain!"
    alone = np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert frame_of(tokenizer).around(alone, 64).tolist() == tokenizer(text)["input_ids"]
    framed = frame_of(tokenizer, TEMPLATE).around(alone, 64).tolist()
    assert framed == tokenizer(TEMPLATE.format(text=text))["input_ids"]
    assert words_of(tokenizer, "unbelievably old ferryboats") == ["unbelievably", "old", "ferryboats"]
