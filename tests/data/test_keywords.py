from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.data.corpus import build_corpus
from mirrormask.data.pairs import pairings
from mirrormask.data.pairs.keywords import keywords_and_passage, rarity
from mirrormask.data.tokens import LazyTokens

TEXTS = [
    "the old boat crossed the wide river and the red dog slept in the warm kitchen",
    "a small cat and one bird sang while the farmers walked along the river talking",
    "the old boat",
    "walking",
]


def tokens(wordpiece: Any, folder: Path) -> tuple[Any, Any]:
    corpus = build_corpus(TEXTS, folder / "corpus")
    return corpus, LazyTokens(corpus, wordpiece, max_tokens=100)


def test_rarity_is_the_log_inverse_frequency(wordpiece: Any, tmp_path: Path) -> None:
    _, store = tokens(wordpiece, tmp_path)
    found = rarity(store)
    for token in range(len(wordpiece)):
        rows = sum(token in ids for ids in store.take(range(len(TEXTS))))
        assert found[token] == np.log((len(TEXTS) + 1) / (rows + 1))


def test_keywords_are_whole_words_of_the_text_in_order(wordpiece: Any, tmp_path: Path) -> None:
    corpus, store = tokens(wordpiece, tmp_path)
    examples = pairings.build("keywords").index(corpus, store, tmp_path / "pairs")
    for seed in range(20):
        anchors, passages = examples.columns(np.arange(len(TEXTS)), seed)
        for text, anchor, passage in zip(TEXTS, anchors, passages, strict=True):
            words = text.split()
            asked, found = (wordpiece.decode(ids.tolist()).split() for ids in (anchor, passage))
            assert 1 <= len(asked) <= 4
            assert len(asked) >= min(2, len(words))
            places = iter(words)
            assert all(word in places for word in asked), (asked, words)
            assert " ".join(found) in text
            assert min(6, len(words)) <= len(found) <= 20


def test_draws_depend_on_the_seed_and_the_row_alone(wordpiece: Any, tmp_path: Path) -> None:
    corpus, store = tokens(wordpiece, tmp_path)
    examples = pairings.build("keywords").index(corpus, store, tmp_path / "pairs")
    alone = examples.columns(np.array([1]), 5)
    among = examples.columns(np.array([0, 1, 2]), 5)
    assert [c[0].tolist() for c in alone] == [c[1].tolist() for c in among]
    assert alone[0][0].tolist() != examples.columns(np.array([1]), 6)[0][0].tolist()


def test_rare_words_are_drawn_more_often() -> None:
    starts, weights = np.ones(10, dtype=np.bool_), np.full(10, 0.1)
    weights[7] = 3.0
    ids = np.arange(10)
    drawn = np.zeros(10)
    chance = np.random.default_rng(0)
    for _ in range(300):
        anchor, _ = keywords_and_passage(ids, starts, weights, keywords=(1, 1), passage=(2, 4), chance=chance)
        drawn[anchor] += 1
    assert drawn[7] > 150
