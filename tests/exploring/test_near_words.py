from __future__ import annotations

import itertools

import numpy as np

from mirrormask.exploring.near_words import near_by_words, normal


def made(count: int) -> list[str]:
    """Return texts of random words, every fourth a copy of the one before with some words changed."""
    random = np.random.default_rng(0)
    words = [f"w{number}" for number in range(500)]
    texts: list[str] = []
    for number in range(count):
        if number % 4 == 3:
            parts = texts[-1].split()
            for place in random.choice(len(parts), random.integers(1, 5), replace=False):
                parts[place] = str(random.choice(words))
            texts.append(" ".join(parts))
        else:
            texts.append(" ".join(random.choice(words, 40)))
    return texts


def runs(text: str) -> set[tuple[str, ...]]:
    words = text.split()
    return {tuple(words[start : start + 3]) for start in range(len(words) - 2)}


def test_the_pairs_are_those_of_comparing_all_with_all() -> None:
    texts = made(120)
    expected = {}
    for (a, one), (b, two) in itertools.combinations(enumerate(map(runs, texts)), 2):
        overlap = len(one & two) / len(one | two)
        if overlap >= 0.6:
            expected[a, b] = overlap
    assert len(expected) > 10
    first, second, overlaps = near_by_words(texts, least=0.6)
    found = dict(zip(zip(first.tolist(), second.tolist(), strict=True), overlaps.tolist(), strict=True))
    assert found.keys() == expected.keys()
    np.testing.assert_allclose(list(found.values()), [expected[pair] for pair in found], atol=1e-6)


def test_nothing_is_near_and_short_texts_are_compared_whole() -> None:
    assert [len(each) for each in near_by_words(["one", "two words", "three words here"], least=0.5)] == [0, 0, 0]


def test_texts_without_spaces_are_compared_by_signs() -> None:
    first, second, _ = near_by_words(
        ["今天天气很好我们去公园散步吧", "今天天气很好我们去公园散步呢", "他在图书馆看书"], least=0.6
    )
    assert (first.tolist(), second.tolist()) == ([0], [1])


def test_normal_keeps_what_is_left_of_marks() -> None:
    assert normal("???") == "???"
    assert normal("Über—uns") == "über uns"
