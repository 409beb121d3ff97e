from __future__ import annotations

from pathlib import Path

import pytest
from transformers import AutoTokenizer, BertTokenizer

from mirrormask.core.errors import DataError, MirrormaskError, ModelError
from mirrormask.pretraining.tokenizer import SPECIAL, load_tokenizer, train_tokenizer

CHINESE = ["今天天气很好，我们去公园。", "他在学校里读书，天气不好。", "公园里有很多学校的人。"] * 4


def test_words_survive_the_round_trip(sentences: list[str]) -> None:
    tokenizer = train_tokenizer(sentences, vocabulary=256)
    for text in sentences[:50]:
        ids = tokenizer(text)["input_ids"]
        assert tokenizer.unk_token_id not in ids
        assert tokenizer.decode(ids, skip_special_tokens=True).replace(" .", ".") == text
        assert (ids[0], ids[-1]) == (tokenizer.cls_token_id, tokenizer.sep_token_id)


def test_special_tokens_come_first_and_the_size_is_met(sentences: list[str]) -> None:
    tokenizer = train_tokenizer(sentences, vocabulary=100)
    assert isinstance(tokenizer, BertTokenizer)
    assert tokenizer.convert_ids_to_tokens(list(range(5))) == list(SPECIAL)
    assert len(tokenizer) == 100


def test_case_is_kept_where_asked() -> None:
    texts = ["Berlin and Café", "berlin and cafe"] * 5
    assert train_tokenizer(texts, vocabulary=80).tokenize("BERLIN café") == ["berlin", "cafe"]
    assert train_tokenizer(texts, vocabulary=80, cased=True).tokenize("Berlin Café") == ["Berlin", "Café"]


def test_chinese_is_split_into_characters() -> None:
    tokenizer = train_tokenizer(CHINESE, vocabulary=80)
    assert tokenizer.tokenize("天气很好") == ["天", "气", "很", "好"]
    assert not any(token.startswith("##") for token in tokenizer.get_vocab() if len(token) == 3 and token[2] > "\u4e00")
    assert "今" in tokenizer.get_vocab(), "most of the vocabulary goes to characters"


def test_rare_characters_give_way() -> None:
    texts = ["abc abd"] * 20 + ["xyzq"]
    vocabulary = train_tokenizer(texts, vocabulary=64, alphabet=4).get_vocab()
    assert "q" not in vocabulary
    assert {"a", "b", "c", "d"} <= set(vocabulary)


def test_the_same_text_gives_the_same_vocabulary(sentences: list[str]) -> None:
    one, two = (train_tokenizer(sentences, vocabulary=200).get_vocab() for _ in range(2))
    assert one == two


def test_it_opens_again_from_its_folder(sentences: list[str], tmp_path: Path) -> None:
    tokenizer = train_tokenizer(sentences, vocabulary=200, longest=77)
    tokenizer.save_pretrained(str(tmp_path))
    again = AutoTokenizer.from_pretrained(str(tmp_path))
    assert again(sentences[:5])["input_ids"] == tokenizer(sentences[:5])["input_ids"]
    assert again.model_max_length == 77


def test_what_cannot_be_learned_from_is_said() -> None:
    with pytest.raises(DataError, match="no text to learn a tokenizer from"):
        train_tokenizer(["", "  "])
    with pytest.raises(MirrormaskError, match="'vocabulary' of the tokenizer must be at least 64. Got 7"):
        train_tokenizer(["a b"], vocabulary=7)


def test_a_tokenizer_of_a_model_can_be_taken(sentences: list[str], tiny_folder: Path, tmp_path: Path) -> None:
    assert load_tokenizer(str(tiny_folder)).mask_token == "[MASK]"
    alone = train_tokenizer(sentences, vocabulary=120)
    alone.save_pretrained(str(tmp_path))  # a folder with a tokenizer and no model
    assert load_tokenizer(str(tmp_path)).get_vocab() == alone.get_vocab()


def test_a_tokenizer_without_a_mask_is_refused(sentences: list[str], tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    raw = train_tokenizer(sentences, vocabulary=120).backend_tokenizer
    PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="[PAD]", sep_token="[SEP]").save_pretrained(str(tmp_path))
    with pytest.raises(ModelError, match="has no mask token"):
        load_tokenizer(str(tmp_path))
