"""The views that rewrite a text: shuffle, crop, deletion, repetition."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mirrormask.core.batch import Frame, Tokens
from mirrormask.core.errors import MirrormaskError
from mirrormask.views import View, Vocabulary, rewrite_texts
from mirrormask.views.crop import Crop, crop_words
from mirrormask.views.delete_one_word import DeleteOneWord, delete_one
from mirrormask.views.token_shuffle import TokenShuffle, shuffle_tokens
from mirrormask.views.word_deletion import WordDeletion, delete_words
from mirrormask.views.word_repetition import WordRepetition, repeat_tokens

STARTS = np.array([True, True, True, False, True, True, True])  # id 3 continues a word
TEXT = np.array([2, 3, 4, 2, 3, 3, 5])  # four words: (2 3) (4) (2 3 3) (5)
WORDS = Vocabulary(Frame(np.array([0]), np.array([1])), STARTS, mask_id=6, special_ids=frozenset({0, 1, 6}))


def rngs(count: int) -> list[np.random.Generator]:
    return [np.random.default_rng(seed) for seed in range(count)]


@pytest.mark.parametrize(
    "view",
    [TokenShuffle(), Crop(0.5), WordDeletion(0.5), DeleteOneWord(), WordRepetition()],
    ids=lambda v: type(v).__name__,
)
def test_the_frame_stays_and_short_texts_live(view: View) -> None:
    rows = Tokens.of([np.array([0, *TEXT, 1]), np.array([0, 4, 1]), np.array([0, 1])])
    for rng in rngs(20):
        seen = view.rewrite(rows, rng, WORDS)
        assert [(row[0], row[-1]) for row in seen.rows] == [(0, 1)] * 3
        assert len(seen.rows[1]) >= 3, "something of every text stays"
        assert len(seen.rows[2]) == 2, "no text, nothing to change"
    assert view.forward_key == "plain", "the rows of both views share a forward"


def test_rewriting_hands_over_the_text_alone() -> None:
    given: list[list[int]] = []

    def change(ids: np.ndarray) -> np.ndarray:
        given.append(ids.tolist())
        return ids[::-1]

    found = rewrite_texts(Tokens.of([np.array([0, 2, 4, 1]), np.array([0, 1])]), WORDS, change)
    assert given == [[2, 4], []]
    assert [row.tolist() for row in found.rows] == [[0, 4, 2, 1], [0, 1]]


def test_shuffled_tokens_are_the_same_tokens_in_any_order() -> None:
    ids = np.array([2, 4, 5])
    counts = Counter(tuple(shuffle_tokens(ids, rng).tolist()) for rng in rngs(1200))
    assert set(counts) == {(2, 4, 5), (2, 5, 4), (4, 2, 5), (4, 5, 2), (5, 2, 4), (5, 4, 2)}
    assert min(counts.values()) > 120


def test_a_crop_is_a_span_of_whole_words() -> None:
    counts = Counter(tuple(crop_words(TEXT, STARTS, rate=0.5, rng=rng).tolist()) for rng in rngs(300))
    assert set(counts) == {(2, 3, 4), (4, 2, 3, 3), (2, 3, 3, 5)}
    assert min(counts.values()) > 60
    for rate, kept in [(0.0, 100), (0.1, 90), (0.15, 85), (0.999, 1)]:
        assert len(crop_words(np.full(100, 4), STARTS, rate=rate, rng=np.random.default_rng(0))) == kept


def test_deletion_takes_whole_words_at_its_rate() -> None:
    ids = np.array([2, 3, 4, 2, 3, 3])
    for rng in rngs(50):
        left = delete_words(ids, STARTS, rate=0.5, rng=rng).tolist()
        assert left in ([2, 3], [4], [2, 3, 3], [2, 3, 4], [2, 3, 2, 3, 3], [4, 2, 3, 3], ids.tolist())
    rng = np.random.default_rng(0)
    assert abs(len(delete_words(np.full(20_000, 4), STARTS, rate=0.3, rng=rng)) / 20_000 - 0.7) < 0.01
    assert all(len(delete_words(np.array([4, 4]), STARTS, rate=0.999, rng=rng)) for _ in range(20))


def test_exactly_one_word_goes() -> None:
    counts = Counter(tuple(delete_one(TEXT, STARTS, rng).tolist()) for rng in rngs(400))
    assert set(counts) == {(4, 2, 3, 3, 5), (2, 3, 2, 3, 3, 5), (2, 3, 4, 5), (2, 3, 4, 2, 3, 3)}
    assert min(counts.values()) > 60
    assert delete_one(np.array([2, 3, 3]), STARTS, np.random.default_rng(0)).tolist() == [2, 3, 3]


def test_repetition_doubles_in_place_and_counts_as_the_paper() -> None:
    ids = np.arange(10, 60)
    extra: Counter[int] = Counter()
    for rng in rngs(600):
        seen = repeat_tokens(ids, rate=0.32, rng=rng).tolist()
        assert seen == sorted(seen), "a repeated token stands beside itself"
        times = Counter(seen)
        assert set(times) == set(ids.tolist())
        assert max(times.values()) <= 2
        extra[len(seen) - 50] += 1
    assert set(extra) == set(range(17)), "from 0 to int(0.32 * 50)"
    assert {len(repeat_tokens(np.array([7, 8, 9]), rate=0.1, rng=rng)) for rng in rngs(50)} == {3, 4, 5}, (
        "at least 2 of 3"
    )


@pytest.mark.parametrize("kind", [Crop, WordDeletion, WordRepetition])
def test_a_rate_that_cannot_be(kind: type[View]) -> None:
    with pytest.raises(MirrormaskError, match="The 'rate' of .* must be at least 0 and below 1. Got 1"):
        kind(1.0)
