"""Every pairing draws what belongs together, and draws the same when asked again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mirrormask.core.errors import DataError, MirrormaskError
from mirrormask.data.pairs import Examples, pairings
from mirrormask.data.pairs.crops import two_crops
from mirrormask.data.text.corpus import build_corpus
from mirrormask.data.text.tokens import LazyTokens, Tokenized, build_tokens

DOCUMENTS = [
    "The old boat crossed the river. A bird sang. Two farmers slept.",
    "One cat slept.",
    "A red dog walked along the river. A bird sang. The farmers talked about boats. The kitchen is warm.",
]


def ids_of(tokenizer: Any, text: str) -> list[int]:
    found: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    return found


def indexed(tokenizer: Any, folder: Path, name: str, rows: Any, split: str = "none", **parameters: int) -> Examples:
    corpus = build_corpus(rows, folder / "corpus", split=split)
    pairing = pairings.build(name, **parameters)
    tokens = build_tokens(corpus, tokenizer, folder / "tokens", max_tokens=pairing.max_tokens_needed(64))
    return pairing.index(corpus, tokens, folder / "pairs")


def test_all_pairings_are_registered() -> None:
    assert {"columns", "crops", "next-sentence", "self"} <= set(pairings.names())
    assert all(part.paper and part.summary for part in pairings)


def test_self(wordpiece: Any, tmp_path: Path) -> None:
    examples = indexed(wordpiece, tmp_path, "self", ["the cat", "a dog", "the river"])
    (only,) = examples.columns(np.array([2, 0]), seed=0)
    assert [ids.tolist() for ids in only] == [ids_of(wordpiece, "the river"), ids_of(wordpiece, "the cat")]
    assert len(examples) == 3


def test_columns(wordpiece: Any, tmp_path: Path) -> None:
    rows = [("the cat", "a cat", "the dog"), ("one bird", "a bird", "two farmers")]
    examples = indexed(wordpiece, tmp_path, "columns", rows)
    columns = examples.columns(np.array([1, 0]), seed=0)
    assert len(columns) == 3
    for place, row in enumerate([rows[1], rows[0]]):
        assert [column[place].tolist() for column in columns] == [ids_of(wordpiece, text) for text in row]


def test_next_sentence_stays_in_the_document_and_skips_gaps(wordpiece: Any, tmp_path: Path) -> None:
    examples = indexed(wordpiece, tmp_path, "next-sentence", DOCUMENTS, split="en")
    everything = np.arange(len(examples))
    anchors, positives = examples.columns(everything, seed=0)
    # The second "A bird sang." is a duplicate, so what stood before and after it are no neighbors.
    expected = [
        ("The old boat crossed the river.", "A bird sang."),
        ("A bird sang.", "Two farmers slept."),
        ("The farmers talked about boats.", "The kitchen is warm."),
    ]
    found = [(a.tolist(), p.tolist()) for a, p in zip(anchors, positives, strict=True)]
    assert found == [(ids_of(wordpiece, a), ids_of(wordpiece, p)) for a, p in expected]
    sharing = [examples.sharing(np.array([i])).tolist() for i in everything]
    assert sharing == [[0, 1], [0, 1], [2]], "neighbors of neighbors, but not across a gap or a document"


def test_next_sentence_over_many_blocks(wordpiece: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import mirrormask.data.pairs.next_sentence as module

    monkeypatch.setattr(module, "_BLOCK", 7)
    chance = np.random.default_rng(1)
    rows = [f"row {i}" if chance.random() < 0.8 else "" for i in range(100)]
    corpus = build_corpus(rows, tmp_path / "corpus")
    tokens = LazyTokens(corpus, wordpiece, max_tokens=9)
    examples = pairings.build("next-sentence").index(corpus, tokens, tmp_path / "pairs")
    expected = [i for i in range(len(corpus) - 1) if not corpus.starts_document(i + 1)]
    first, second = examples.columns(np.arange(len(examples)), seed=0)
    assert [ids.tolist() for ids in first] == [ids.tolist() for ids in tokens.take(expected)]
    assert [ids.tolist() for ids in second] == [ids.tolist() for ids in tokens.take([i + 1 for i in expected])]


def test_crops_are_spans_of_whole_words(wordpiece: Any, tmp_path: Path) -> None:
    text = "the unbelievable boat crossed the wide river while unbreakable farmers walked along sleeping rivers"
    examples = indexed(wordpiece, tmp_path, "crops", [text, "a short one"], min_words=3, max_words=6)
    words = text.split()
    spans = {
        tuple(ids_of(wordpiece, " ".join(words[a : a + n]))): n for n in range(3, 7) for a in range(len(words) - n + 1)
    }
    lengths = set()
    for seed in range(60):
        first, second = (column[0].tolist() for column in examples.columns(np.array([0]), seed))
        assert tuple(first) in spans
        assert tuple(second) in spans
        assert first != second
        lengths |= {spans[tuple(first)], spans[tuple(second)]}
    assert lengths == {3, 4, 5, 6}


def test_crops_depend_on_seed_and_example_only(wordpiece: Any, tmp_path: Path) -> None:
    rows = [f"the old boat {i} crossed the wide river while one bird sang and two farmers slept" for i in range(6)]
    examples = indexed(wordpiece, tmp_path, "crops", rows, min_words=2, max_words=5)

    def drawn(numbers: list[int], seed: int) -> list[list[int]]:
        return [ids.tolist() for column in examples.columns(np.array(numbers), seed) for ids in column]

    together = drawn([4, 1, 3], seed=9)
    assert together == drawn([4, 1, 3], seed=9)
    assert drawn([1], seed=9) == [together[1], together[4]]
    assert together != drawn([4, 1, 3], seed=10)


def test_texts_without_two_crops_come_whole(wordpiece: Any, tmp_path: Path) -> None:
    words = np.array([0, 1, 5, 8])
    first, second = two_crops(words, min_words=8, max_words=25, rows=np.arange(4), seed=1)
    assert first.tolist() == second.tolist() == [[0, count] for count in words]
    first, second = two_crops(np.array([9]), min_words=8, max_words=8, rows=np.array([3]), seed=1)
    assert sorted([*first.tolist(), *second.tolist()]) == [[0, 8], [1, 9]]
    examples = indexed(wordpiece, tmp_path, "crops", ["a short one", "the river"])
    for column in examples.columns(np.array([0, 1]), 1):
        assert [ids.tolist() for ids in column] == [ids_of(wordpiece, text) for text in ("a short one", "the river")]


def test_the_second_crop_is_drawn_like_the_first_among_the_others() -> None:
    """Of three words one or two are cropped: the chances are 1/6 for each single word and 1/4 for each two."""
    count = 60_000
    first, second = two_crops(np.full(count, 3), min_words=1, max_words=2, rows=np.arange(count), seed=5)
    chances = {(0, 1): 1 / 6, (1, 2): 1 / 6, (2, 3): 1 / 6, (0, 2): 1 / 4, (1, 3): 1 / 4}
    seen: dict[tuple[tuple[int, int], tuple[int, int]], int] = {}
    for one, other in zip(map(tuple, first.tolist()), map(tuple, second.tolist()), strict=True):
        seen[one, other] = seen.get((one, other), 0) + 1
    assert set(seen) == {(one, other) for one in chances for other in chances if one != other}
    for (one, other), times in seen.items():
        assert times / count == pytest.approx(chances[one] * chances[other] / (1 - chances[one]), abs=0.006)


def test_crops_keep_more_of_a_paragraph() -> None:
    assert pairings.build("crops").max_tokens_needed(30) == 512
    assert pairings.build("crops").max_tokens_needed(254) == 1016
    assert pairings.build("self").max_tokens_needed(30) == 30


@pytest.mark.parametrize("name", ["self", "next-sentence", "crops"])
def test_one_column_is_wanted(wordpiece: Any, tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=rf"The pairing '{name}' takes one column of text, and the corpus has 2\."):
        indexed(wordpiece, tmp_path, name, [("a", "b"), ("c", "d")])


def test_columns_want_two(wordpiece: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"'columns' takes two columns or more .* the corpus has one"):
        indexed(wordpiece, tmp_path, "columns", ["a", "b"])


def test_no_neighbors(wordpiece: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"found 0 neighbors in 2 rows.* Split the text into sentences"):
        indexed(wordpiece, tmp_path, "next-sentence", ["one cat", "", "a dog"])


def test_bad_parameters() -> None:
    with pytest.raises(MirrormaskError, match=r"'max_words' of crops must be at least 9\. Got 5"):
        pairings.build("crops", min_words=9, max_words=5)
    with pytest.raises(MirrormaskError, match=r"There is no pairing 'crop'\. Did you mean 'crops'\?"):
        pairings.build("crop")


def test_both_kinds_of_tokens_will_do(wordpiece: Any, tmp_path: Path) -> None:
    corpus = build_corpus(DOCUMENTS, tmp_path / "corpus")
    kinds: list[Tokenized] = [
        build_tokens(corpus, wordpiece, tmp_path / "tokens", max_tokens=30),
        LazyTokens(corpus, wordpiece, max_tokens=30),
    ]
    drawn = [
        [
            ids.tolist()
            for column in pairings.build("crops", min_words=3).index(corpus, tokens, tmp_path).columns(np.arange(3), 1)
            for ids in column
        ]
        for tokens in kinds
    ]
    assert drawn[0] == drawn[1]
