from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.seeding import derive, uniforms
from mirrormask.data.pairs import pairings
from mirrormask.data.pairs.keywords import Keywords, draw_words, rarity, two_passages
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens
from mirrormask.data.text.words import Words, word_edges

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


def one_pair(
    ids: np.ndarray, starts: np.ndarray, weights: np.ndarray, row: int, seed: int, pairing: Keywords
) -> tuple[list[int], list[int]]:
    """Draw one pair as a plain program does, from the uniform numbers of its row."""
    seed = derive(seed, "keywords")
    u = uniforms(seed, np.array([row]), np.arange(10)).tolist()
    edges = word_edges(ids, starts).tolist()
    words = len(edges) - 1 if len(ids) else 0

    def whole(low: int, high: int, chance: float) -> int:
        return low + int(chance * (high - low + 1))

    def span(words: int, length: float, place: float) -> tuple[int, int]:
        size = whole(min(pairing.min_words, words), min(pairing.max_words, words), length)
        first = whole(0, words - size, place)
        return first, first + size

    def cut(first: int, last: int) -> list[int]:
        found: list[int] = ids[edges[first] : edges[last]].tolist()
        return found

    if u[0] < pairing.passages and words >= 4 * pairing.min_words:
        middle = whole(pairing.min_words, words - pairing.min_words, u[4])
        before = cut(*span(middle, u[5], u[6]))
        after = cut(*(middle + place for place in span(words - middle, u[7], u[8])))
        return (after, before) if u[9] < 0.5 else (before, after)
    first, last = span(words, u[1], u[2])
    waits = {}
    for word in range(first, last):
        rare = max(weights[token] for token in ids[edges[word] : edges[word + 1]]) + 1e-3
        chance = uniforms(derive(seed, "words"), np.array([row]), np.array([word]))[0]
        waits[word] = -np.log1p(-chance) / rare
    count = whole(pairing.min_keywords, pairing.max_keywords, u[3])
    chosen = sorted(sorted(waits, key=waits.__getitem__)[:count])
    return [token for word in chosen for token in cut(word, word + 1)], cut(first, last)


@pytest.mark.parametrize("passages", [0.0, 0.5, 1.0])
def test_a_batch_is_drawn_as_a_loop_draws_it(passages: float) -> None:
    chance = np.random.default_rng(3)
    starts = chance.random(50) < 0.7
    weights = chance.random(50) * 5
    texts = [chance.integers(0, 50, size) for size in (0, 1, 3, 40, 90, 0, 17, 500, 24, 60)]
    rows = np.array([9, 4, 0, 77, 3, 12, 2**33, 5, 6, 8])
    pairing = Keywords(passages=passages)
    kinds = set()
    for seed in range(30):
        found = pairing.draw(Words.of(texts, starts), rows, seed, weights)
        for ids, row, anchor, passage in zip(texts, rows.tolist(), *found, strict=True):
            expected = one_pair(ids, starts, weights, row, seed, pairing)
            assert (anchor.tolist(), passage.tolist()) == expected
            kinds.add(len(expected[0]) > len(expected[1]))
    assert kinds == ({False} if passages == 0 else {False, True})


def test_words_are_drawn_one_after_another_by_their_rarity() -> None:
    """The chance of {i, j} is that of i then j, or j then i: p_i p_j / (1 - p_i) + p_j p_i / (1 - p_j)."""
    rare, times = np.array([1.0, 2.0, 5.0]), 40_000
    owner = np.repeat(np.arange(times), 3)
    drawn = draw_words(
        np.tile(rare, times), owner, np.full(times, 2), uniforms(1, np.arange(times)[:, None], np.arange(3)).ravel()
    ).reshape(times, 3)
    assert (drawn.sum(axis=1) == 2).all()
    p = rare / rare.sum()
    for left_out in range(3):
        i, j = (word for word in range(3) if word != left_out)
        expected = p[i] * p[j] * (1 / (1 - p[i]) + 1 / (1 - p[j]))
        assert (~drawn[:, left_out]).mean() == pytest.approx(expected, abs=0.01)


def test_no_more_words_are_drawn_than_there_are() -> None:
    drawn = draw_words(np.ones(5), np.array([0, 0, 2, 2, 2]), np.array([4, 1, 1]), np.linspace(0, 0.9, 5))
    assert drawn.tolist() == [True, True, True, False, False]


def test_two_passages_never_overlap_and_keep_their_lengths() -> None:
    for count in (12, 13, 20, 100):
        words, chance = np.full(200, count), uniforms(count, np.arange(200)[:, None], np.arange(6))
        orders = set()
        for (a, b), (c, d) in zip(*two_passages(words, 6, 20, chance), strict=True):
            assert 6 <= b - a <= 20
            assert 6 <= d - c <= 20
            assert b <= c or d <= a
            assert 0 <= min(a, c) < max(b, d) <= count
            orders.add(bool(b <= c))
        assert orders == {False, True}


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
