from __future__ import annotations

import numpy as np
import pytest

from mirrormask.data.text.words import Words, word_edges

STARTS = np.array([True, True, True, False, False])  # ids 3 and 4 continue a word
TEXTS = [np.array(ids, dtype=np.uint16) for ids in ([], [0, 3, 1], [3, 4], [], [4, 2, 2, 3, 3, 0], [1], [])]


def test_words_are_those_of_each_text_alone() -> None:
    words = Words.of(TEXTS, STARTS)
    assert words.counts.tolist() == [0, 2, 1, 0, 4, 1, 0]
    for number, ids in enumerate(TEXTS):
        if len(ids):
            edges = word_edges(ids, STARTS)
            assert len(edges) - 1 == words.counts[number]
            own = words.edges[words.first[number] : words.first[number + 1] + 1]
            assert (own - own[0]).tolist() == edges.tolist()


@pytest.mark.parametrize("texts", [[], [np.array([], dtype=np.uint16)]])
def test_no_words(texts: list[np.ndarray]) -> None:
    words = Words.of(texts, STARTS)
    assert words.counts.tolist() == [0] * len(texts)
    assert [len(ids) for ids in words.spans(np.zeros((len(texts), 2), dtype=np.int64))] == [0] * len(texts)
    assert [len(ids) for ids in words.chosen(np.zeros(0, dtype=np.int64), words.counts)] == [0] * len(texts)


def test_spans_and_chosen_words_are_cut_out() -> None:
    words = Words.of(TEXTS, STARTS)
    places = np.array([[0, 0], [1, 2], [0, 1], [0, 0], [1, 3], [0, 1], [0, 0]])
    assert [ids.tolist() for ids in words.spans(places)] == [[], [1], [3, 4], [], [2, 2, 3, 3], [1], []]
    numbers = np.array([0, 3, 5, 6])  # the first word of the second text, and three of the fifth
    found = words.chosen(numbers, np.array([0, 1, 0, 0, 3, 0, 0]))
    assert [ids.tolist() for ids in found] == [[], [0, 3], [], [], [4, 2, 3, 3, 0], [], []]
