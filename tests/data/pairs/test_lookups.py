from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import MirrormaskError
from mirrormask.data.pairs import Examples, pairings
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens

TEXTS = [
    "the old boat crossed the wide river and the red dog slept in the warm kitchen",
    "a small cat and one bird sang while the farmers walked along the river talking",
    "the old boat",
    "walking",
]


def examples_of(wordpiece: Any, folder: Path, **parameters: Any) -> Examples:
    corpus = build_corpus(TEXTS, folder / "corpus")
    store = LazyTokens(corpus, wordpiece, max_tokens=100)
    return pairings.build("lookups", **parameters).index(corpus, store, folder / "pairs")


def words(wordpiece: Any, ids: Any) -> list[str]:
    return str(wordpiece.decode(ids.tolist())).split()


def test_a_passage_and_the_rest_are_the_text(wordpiece: Any, tmp_path: Path) -> None:
    examples = examples_of(wordpiece, tmp_path, keywords=0.0, min_words=3, max_words=5)
    for seed in range(20):
        typed, rests = examples.columns(np.arange(2), seed)
        for text, passage, rest in zip(TEXTS, typed, rests, strict=False):
            asked, left, whole = words(wordpiece, passage), words(wordpiece, rest), text.split()
            assert 3 <= len(asked) <= 5
            assert any(left[:place] + asked + left[place:] == whole for place in range(len(left) + 1))


def test_a_text_too_short_to_lose_a_passage_stays_whole(wordpiece: Any, tmp_path: Path) -> None:
    typed, rests = examples_of(wordpiece, tmp_path, keywords=0.0).columns(np.array([2, 3]), 1)
    assert [words(wordpiece, rest) for rest in rests] == [["the", "old", "boat"], ["walking"]]
    assert all(len(each) for each in typed)


def test_telling_words_find_the_whole_text(wordpiece: Any, tmp_path: Path) -> None:
    examples = examples_of(wordpiece, tmp_path, keywords=1.0, max_keywords=3)
    typed, texts = examples.columns(np.arange(4), 3)
    for text, asked, whole in zip(TEXTS, typed, texts, strict=True):
        assert words(wordpiece, whole) == text.split()
        places = iter(text.split())
        assert all(word in places for word in words(wordpiece, asked))
        assert min(2, len(text.split())) <= len(words(wordpiece, asked)) <= 3


def test_draws_depend_on_the_seed_and_the_row_alone(wordpiece: Any, tmp_path: Path) -> None:
    examples = examples_of(wordpiece, tmp_path)
    alone, among = examples.columns(np.array([1]), 5), examples.columns(np.array([0, 1, 2]), 5)
    assert [c[0].tolist() for c in alone] == [c[1].tolist() for c in among]
    assert any(alone[0][0].tolist() != examples.columns(np.array([1]), seed)[0][0].tolist() for seed in range(6, 9))


def test_the_share_of_telling_words_is_kept_to(wordpiece: Any, tmp_path: Path) -> None:
    examples = examples_of(wordpiece, tmp_path, keywords=0.25)
    whole = sum(
        len(words(wordpiece, examples.columns(np.array([0]), seed)[1][0])) == len(TEXTS[0].split())
        for seed in range(200)
    )
    assert 30 <= whole <= 70


@pytest.mark.parametrize("parameters", [{"keywords": 1.5}, {"max_keywords": 1}, {"min_words": 5, "max_words": 4}])
def test_bad_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(MirrormaskError, match="lookups"):
        pairings.build("lookups", **parameters)
