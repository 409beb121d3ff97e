"""Small tokenizers of the three families, trained in code on text written here."""

from __future__ import annotations

from typing import Any

import pytest
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

TEXTS = [
    'This sentence : "the old boat crossed the wide river" means something.',
    "A small cat and a red dog slept in the warm kitchen while one bird sang.",
    "Two farmers walked along the river, talking about boats and kitchens.",
    "unbelievable unbreakable walking sleeping crossing singing talked walked slept",
    "今天下雨我们在家看书，猫在厨房睡觉。",
] * 3
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def wrapped(tokenizer: Tokenizer) -> Any:
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]")],
    )
    names = {name.strip("[]").lower() + "_token": name for name in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=64, **names)


@pytest.fixture(scope="session")
def wordpiece() -> Any:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(TEXTS, trainers.WordPieceTrainer(vocab_size=260, special_tokens=SPECIAL))
    return wrapped(tokenizer)


@pytest.fixture(scope="session")
def byte_bpe() -> Any:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=480, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return wrapped(tokenizer)


@pytest.fixture(scope="session")
def unigram() -> Any:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(vocab_size=200, special_tokens=SPECIAL, unk_token="[UNK]")
    tokenizer.train_from_iterator(TEXTS, trainer)
    return wrapped(tokenizer)
