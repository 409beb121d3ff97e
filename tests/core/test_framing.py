"""A framed text equals the tokenizer's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.core.framing import frame_of
from mirrormask.models.names import SHIPPED

TEMPLATE = 'This sentence : "{text}" means [MASK].'


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


def test_the_shipped_model() -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(SHIPPED / "mini")
    text = "An unbelievably old ferryboat's captain!"
    alone = np.asarray(tokenizer(text, add_special_tokens=False)["input_ids"])
    assert frame_of(tokenizer).around(alone, 64).tolist() == tokenizer(text)["input_ids"]
    framed = frame_of(tokenizer, TEMPLATE).around(alone, 64).tolist()
    assert framed == tokenizer(TEMPLATE.format(text=text))["input_ids"]
