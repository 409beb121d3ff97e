from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from transformers import AutoTokenizer

from mirrormask.core.errors import MirrormaskError
from mirrormask.prompting.pattern import Pattern, Prompted, shares
from mirrormask.prompting.template import Template, put_in, whole_template


@pytest.fixture(scope="module")
def tokenizer(tiny_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(tiny_folder)


def test_parts_fields_masks_and_soft_tokens() -> None:
    template = Template("[P*2] {a|bare}? [MASK][MASK], {b|whole|lower} [P] [SEP]")
    assert [part.kind for part in template.parts] == [
        *("soft", "field", "words", "mask", "words", "field", "soft", "separator")
    ]
    assert template.fields == ("a", "b")
    assert template.masks == 2
    assert template.soft == 3
    assert Template("{a}, so [MASKS].").masks == 0


def test_a_template_without_a_field_has_the_text_in_front() -> None:
    assert whole_template("It was [MASK].").text == "{text} It was [MASK]."
    assert whole_template("Just [MASK]! {review}").fields == ("review",)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{text} It was good.", r"has no \[MASK\]"),
        ("[MASK] and {text} and [MASK]", "masks in several places"),
        ("It was [MASK].", "no place for a text"),
        ("{} was [MASK]", "place without a name"),
        ("{text|hole} [MASK]", "no way 'hole'.*Did you mean 'whole'"),
        ("{text} [MASK*0]", "no number of tokens"),
        ("{text} [MASK*9999]", "no number of tokens"),
    ],
)
def test_what_is_wrong_with_a_template_is_said(text: str, says: str) -> None:
    with pytest.raises(MirrormaskError, match=says):
        Template(text)


def test_ways_to_put_in_a_field() -> None:
    assert put_in(" The boat left! ", ("bare", "lower")) == "the boat left"
    assert put_in("The boat left.", ()) == "The boat left."


def test_rows_are_the_words_of_the_whole_text(tokenizer: Any) -> None:
    pattern = Pattern("{text} this means [MASK].", tokenizer)
    rows = pattern.rows([{"text": "the old baker paints"}, {"text": "a quiet child"}])
    expected = tokenizer(["the old baker paints this means [MASK].", "a quiet child this means [MASK]."])["input_ids"]
    assert [row.tolist() for row in rows.tokens.rows] == expected
    for row, places in zip(rows.tokens.rows, rows.masks, strict=True):
        assert row[places].tolist() == [tokenizer.mask_token_id]


def test_texts_are_cut_and_the_question_never(tokenizer: Any) -> None:
    pattern = Pattern("{a}, {b|whole}? [MASK]", tokenizer, max_length=12)
    rows = pattern.rows([{"a": "the old baker " * 20, "b": "a quiet child"}])
    (row,) = rows.tokens.rows
    assert tokenizer.decode(row) == "[CLS] the old baker the, a quiet child [UNK] [MASK] [SEP]"
    assert len(row) == 12
    assert row[rows.masks[0]].tolist() == [tokenizer.mask_token_id]


def test_a_text_that_leaves_no_room_is_refused(tokenizer: Any) -> None:
    pattern = Pattern("{a}: {b|whole} [MASK]", tokenizer, max_length=12)
    with pytest.raises(MirrormaskError, match=r"Row 2 leaves no room for the mask.*19 of them in fields.*a row has 12"):
        pattern.rows([{"a": "boat", "b": "child"}, {"a": "boat", "b": "a quiet child " * 6 + "boat"}])
    with pytest.raises(MirrormaskError, match="Row 1 leaves no room for the mask"):
        Pattern("{a} " + "boat " * 20 + "[MASK]", tokenizer, max_length=12).rows([{"a": "boat"}])


def test_soft_tokens_are_where_the_template_has_them(tokenizer: Any) -> None:
    rows = Pattern("[P] {text} [P*2] in [MASK]", tokenizer).rows([{"text": "a boat"}])
    assert rows.soft[0].tolist() == [1, 4, 5]
    assert rows.masks[0].tolist() == [7]


def test_joined_rows_are_the_rows_one_after_another(tokenizer: Any) -> None:
    one = Pattern("{text} [MASK]", tokenizer).rows([{"text": "a boat"}])
    two = Pattern("[MASK] {text}", tokenizer).rows([{"text": "a child"}])
    both = Prompted.joined([one, two])
    assert [places.tolist() for places in both.masks] == [[3], [1]]
    assert both.take([1]).tokens.rows[0].tolist() == two.tokens.rows[0].tolist()


def test_shares_take_from_the_longest_one_by_one() -> None:
    for lengths, room in [([9, 3, 7], 14), ([5, 5, 5], 7), ([1, 20], 4), ([3], 0)]:
        slow = list(lengths)
        while sum(slow) > room:
            slow[len(slow) - 1 - int(np.argmax(slow[::-1]))] -= 1
        assert shares(lengths, room) == slow


def test_byte_level_tokenizers_see_the_spaces(byte_bpe: Any) -> None:
    pattern = Pattern("{text} means [MASK].", byte_bpe)
    (row,) = pattern.rows([{"text": "a boat"}]).tokens.rows
    assert row.tolist() == byte_bpe("a boat means[MASK].")["input_ids"]
    assert Template("{text} means [MASK].").spaced
    assert not Template("{text}[MASK].").spaced
