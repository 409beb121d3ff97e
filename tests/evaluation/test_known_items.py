from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mirrormask.core.similarity import unit_rows
from mirrormask.evaluation.known_items import KnownItems, agreement, standardized, taken_out

TEXT = (
    "The old baker paints a wooden boat. A young pilot finds the broken clock. My neighbor carries some bread. "
    "Yes. A quiet child forgets the long letter. The gray cat watches an empty street."
)


def chance(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_sentences_and_the_rest_make_the_text() -> None:
    for seed in range(10):
        taken, rest = taken_out(TEXT, 2, chance(seed))
        assert len(taken) == 2
        assert "Yes." not in taken, "too short to ask with"
        assert sorted([*taken, *rest.replace(". ", ".|").split("|")]) == sorted(TEXT.replace(". ", ".|").split("|"))


def test_no_more_than_a_third_of_a_text_is_taken_out() -> None:
    assert len(taken_out(TEXT, 50, chance())[0]) == 2


def test_one_sentence_gives_up_a_part_of_its_words() -> None:
    text = "the gray cat watches an empty street in the rain"
    (part,), rest = taken_out(text, 3, chance(1))
    before, _, after = text.partition(part)
    assert len(part.split()) == 3
    assert rest.split() == [*before.split(), *after.split()]
    assert taken_out("a gray cat", 3, chance()) == ([], "a gray cat")


def test_chinese_texts_give_sentences_too() -> None:
    taken, rest = taken_out("今天下雨我们在家看书。猫在厨房里睡觉了。他们明天去河边走走。", 1, chance())
    assert len(taken) == 1
    assert taken[0] not in rest


def test_items_know_their_own_document() -> None:
    texts = [TEXT, "Two red apples fell. The tall engineer repairs a clock. It rains every winter.", "no"]
    items = KnownItems.of(texts, ["another text"], seed=1)
    assert len(items.documents) == 4
    for query, owner in zip(items.queries, items.owners, strict=True):
        assert query in texts[owner]
        assert query not in items.documents[owner]
    again = KnownItems.of(texts, ["another text"], seed=1)
    assert again.queries == items.queries


def test_found_is_the_ndcg_of_the_own_document() -> None:
    items = KnownItems(("a", "b", "c"), tuple("0123456789abc"), np.array([0, 1, 2]))
    scores = np.zeros((3, 13), dtype=np.float32)
    scores[0, 0] = 1  # first
    scores[1, [4, 5, 1]] = [3, 2, 1]  # third
    assert items.found(scores).round(6).tolist() == [1.0, 0.5, 0.0], "of all equal ones the own comes last"


def test_words_find_the_text_that_has_them(tiny: Callable[..., Any], sentences: list[str]) -> None:
    items = KnownItems.of([" ".join(sentences[i : i + 3]) for i in range(0, 60, 3)], sentences[60:80], seed=2)
    assert items.words().shape == (20, 40)
    cosines = items.cosines(tiny())
    assert cosines.shape == (20, 40)
    assert np.abs(cosines).max() <= 1 + 1e-5


def test_cosines_are_those_of_the_encoder(tiny: Callable[..., Any], sentences: list[str]) -> None:
    encoder = tiny()
    items = KnownItems(tuple(sentences[:3]), tuple(sentences[3:8]), np.array([0, 1, 2]))
    queries, documents = (unit_rows(encoder.encode(list(each))) for each in (items.queries, items.documents))
    assert items.cosines(encoder) == pytest.approx(queries @ documents.T, abs=1e-5)
    encoder.prompts = {"query": "the ", "document": ""}
    asked = unit_rows(encoder.encode(["the " + each for each in items.queries], prompt=""))
    assert items.cosines(encoder) == pytest.approx(asked @ documents.T, abs=1e-5)


def test_agreement_counts_the_teachers_first_most() -> None:
    teacher = np.arange(20.0, 0.0, -1.0, dtype=np.float32)[None]
    assert agreement(teacher, teacher) == pytest.approx([1.0])
    assert agreement(-teacher, teacher) == pytest.approx([0.0]), "none of its ten are the teacher's"
    swapped, late = teacher.copy(), teacher.copy()
    swapped[0, [0, 1]] = teacher[0, [1, 0]]
    late[0, [8, 9]] = teacher[0, [9, 8]]
    assert 1 > agreement(late, teacher)[0] > agreement(swapped, teacher)[0]
    few = np.array([[2.0, 1.0]], dtype=np.float32)
    assert agreement(few, few) == pytest.approx([1.0])


def test_standardized_rows_have_no_mean_and_one_deviation() -> None:
    found = standardized(np.array([[1.0, 2.0, 6.0], [2.0, 2.0, 2.0]], dtype=np.float32))
    assert found.mean(axis=1) == pytest.approx([0, 0], abs=1e-6)
    assert found.std(axis=1) == pytest.approx([1, 0], abs=1e-5)
