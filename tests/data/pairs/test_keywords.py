from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from mirrormask.data.pairs import pairings
from mirrormask.data.pairs.keywords import keywords_of, rarity, two_passages
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens

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
    examples = pairings.build("keywords", passages=0.0).index(corpus, store, tmp_path / "pairs")
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
    examples = pairings.build("keywords", passages=0.0).index(corpus, store, tmp_path / "pairs")
    alone = examples.columns(np.array([1]), 5)
    among = examples.columns(np.array([0, 1, 2]), 5)
    assert [c[0].tolist() for c in alone] == [c[1].tolist() for c in among]
    assert alone[0][0].tolist() != examples.columns(np.array([1]), 6)[0][0].tolist()


def test_rare_words_are_drawn_more_often() -> None:
    weights = np.full(10, 0.1)
    weights[7] = 3.0
    drawn = np.zeros(10)
    chance = np.random.default_rng(0)
    for _ in range(300):
        drawn[keywords_of(np.arange(10), np.arange(11), weights, 1, chance)] += 1
    assert drawn[7] > 150


def test_two_passages_never_overlap_and_keep_their_lengths() -> None:
    chance = np.random.default_rng(0)
    for words in (12, 13, 20, 100):
        for _ in range(200):
            (a, b), (c, d) = two_passages(words, 6, 20, chance)
            assert 6 <= b - a <= 20
            assert 6 <= d - c <= 20
            assert b <= c or d <= a
            assert 0 <= min(a, c) < max(b, d) <= words


def test_a_share_of_the_pairs_is_two_passages(wordpiece: Any, tmp_path: Path) -> None:
    corpus, store = tokens(wordpiece, tmp_path)
    examples = pairings.build("keywords", passages=1.0, min_words=3).index(corpus, store, tmp_path / "pairs")
    for seed in range(20):
        anchors, passages = examples.columns(np.arange(len(TEXTS)), seed)
        for text, anchor, passage in zip(TEXTS[:2], anchors, passages, strict=False):
            one, two = (wordpiece.decode(ids.tolist()) for ids in (anchor, passage))
            assert one in text
            assert two in text
            assert 3 <= len(one.split()) <= 13
        assert len(anchors[2]) <= len(store.take([2])[0])  # too short for two passages: keywords
