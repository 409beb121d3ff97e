"""Stored and lazy tokens are the tokenizer's own, cut and counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.text import tokens as tokens_module
from mirrormask.data.text.corpus import Corpus, build_corpus
from mirrormask.data.text.tokens import LazyTokens, build_tokens, open_tokens

SENTENCE = "the old boat crossed a wide river while one bird sang and two farmers slept 猫"
WORDS = SENTENCE.split()


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    chance = np.random.default_rng(0)
    rows = [" ".join(WORDS[i] for i in chance.integers(len(WORDS), size=chance.integers(1, 20))) for _ in range(300)]
    return build_corpus(rows, tmp_path / "corpus")


@pytest.mark.parametrize("name", ["wordpiece", "byte_bpe", "unigram"])
def test_stored_and_lazy_equal_the_tokenizer(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, corpus: Corpus, tmp_path: Path, name: str
) -> None:
    monkeypatch.setattr(tokens_module, "_ROWS", 64)
    tokenizer = request.getfixturevalue(name)
    expected = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in corpus.texts(0, len(corpus))]
    tokenizer(["a", "b c"], padding=True, truncation=True, max_length=3)  # settings left on the shared tokenizer
    done: list[int] = []
    stored = build_tokens(corpus, tokenizer, tmp_path / "tokens", max_tokens=16, progress=done.append)
    lazy = LazyTokens(corpus, tokenizer, max_tokens=16)
    assert done[-1] == len(stored) == len(lazy) == len(corpus)
    for found in (stored, lazy):
        assert [ids.tolist() for ids in found.take(range(len(corpus)))] == [ids[:16] for ids in expected]
        assert found.truncated == sum(len(ids) > 16 for ids in expected) > 0
        only = found[3]
        assert isinstance(only, np.ndarray)
        assert only.tolist() == expected[3][:16]
        assert found.starts.shape == (len(tokenizer),)
    assert stored.take([0])[0].dtype == np.uint16


def test_several_columns(wordpiece: Any, tmp_path: Path) -> None:
    rows = [("the cat", "a red dog", "x"), ("one bird sang", "two", "the wide river")]
    corpus = build_corpus(rows, tmp_path / "corpus")
    stored = build_tokens(corpus, wordpiece, tmp_path / "tokens", max_tokens=3)
    lazy = LazyTokens(corpus, wordpiece, max_tokens=3)
    assert stored.width == lazy.width == 3
    for i, row in enumerate(rows):
        expected = [wordpiece(text, add_special_tokens=False)["input_ids"][:3] for text in row]
        assert [ids.tolist() for ids in stored[i]] == [ids.tolist() for ids in lazy[i]] == expected
    assert stored.take([1], column=2)[0].tolist() == stored[1][2].tolist()


def test_wide_vocabularies_take_wider_ids(corpus: Corpus, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: place for place, word in enumerate([*(f"w{i}" for i in range(1 << 16)), *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="w0"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    stored = build_tokens(corpus, PreTrainedTokenizerFast(tokenizer_object=tokenizer), tmp_path / "t", max_tokens=8)
    ids = stored.take([0])[0]
    assert ids.dtype == np.uint32
    assert ids.tolist() == [vocabulary[word] for word in str(corpus[0]).split()][:8]
    assert stored.starts.all()


def test_same_corpus_and_tokenizer_are_not_tokenized_again(
    wordpiece: Any, unigram: Any, corpus: Corpus, tmp_path: Path
) -> None:
    folder = tmp_path / "tokens"
    build_tokens(corpus, wordpiece, folder, max_tokens=8)
    made = (folder / "tokens.json").stat().st_mtime_ns
    wordpiece(["a", "b c"], padding=True, truncation=True, max_length=3)
    build_tokens(corpus, wordpiece, folder, max_tokens=8)
    assert (folder / "tokens.json").stat().st_mtime_ns == made
    assert open_tokens(folder).max_tokens == 8
    assert build_tokens(corpus, wordpiece, folder, max_tokens=9).max_tokens == 9
    assert len(build_tokens(corpus, unigram, folder, max_tokens=9).starts) == len(unigram)


def test_bad_folders_and_limits(wordpiece: Any, corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no finished tokens"):
        open_tokens(tmp_path / "nowhere")
    with pytest.raises(DataError, match="holds something else than tokens"):
        build_tokens(corpus, wordpiece, corpus.folder, max_tokens=8)
    with pytest.raises(MirrormaskError, match=r"'max_tokens' of the tokens must be at least 1\. Got 0"):
        build_tokens(corpus, wordpiece, tmp_path / "tokens", max_tokens=0)


def test_a_failure_leaves_nothing(wordpiece: Any, corpus: Corpus, tmp_path: Path) -> None:
    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_tokens(corpus, wordpiece, tmp_path / "tokens", max_tokens=8, progress=stop)
    assert not (tmp_path / "tokens").exists()
